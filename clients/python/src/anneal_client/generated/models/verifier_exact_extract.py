from enum import StrEnum

class VerifierExactExtract(StrEnum):
    ALL = "all"
    TAG = "tag"

    def __str__(self) -> str:
        return str(self.value)
