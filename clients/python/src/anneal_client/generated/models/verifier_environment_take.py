from enum import StrEnum

class VerifierEnvironmentTake(StrEnum):
    LAST = "last"
    MEAN = "mean"
    SUM = "sum"

    def __str__(self) -> str:
        return str(self.value)
