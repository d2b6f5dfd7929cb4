from enum import StrEnum

class VerifierJsonSchemaExtract(StrEnum):
    ALL = "all"
    LAST = "last"

    def __str__(self) -> str:
        return str(self.value)
