from enum import StrEnum

class VerifierNumericPercent(StrEnum):
    DIVIDE = "divide"
    IGNORE = "ignore"

    def __str__(self) -> str:
        return str(self.value)
