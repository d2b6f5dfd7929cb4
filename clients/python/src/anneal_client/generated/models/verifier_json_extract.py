from enum import StrEnum

class VerifierJsonExtract(StrEnum):
    ALL = "all"
    LAST = "last"

    def __str__(self) -> str:
        return str(self.value)
