from enum import StrEnum

class VerifierCodeReward(StrEnum):
    ALL = "all"
    FRACTION = "fraction"

    def __str__(self) -> str:
        return str(self.value)
