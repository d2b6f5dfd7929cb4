from enum import StrEnum

class VerifierStringCheckOperation(StrEnum):
    EQ = "eq"
    ILIKE = "ilike"
    LIKE = "like"
    NE = "ne"

    def __str__(self) -> str:
        return str(self.value)
