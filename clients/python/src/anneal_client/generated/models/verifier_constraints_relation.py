from enum import StrEnum

class VerifierConstraintsRelation(StrEnum):
    AT_LEAST = "at least"
    AT_MOST = "at most"
    EXACTLY = "exactly"
    LESS_THAN = "less than"

    def __str__(self) -> str:
        return str(self.value)
