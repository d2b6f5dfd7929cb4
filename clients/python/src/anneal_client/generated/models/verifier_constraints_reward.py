from enum import StrEnum

class VerifierConstraintsReward(StrEnum):
    ALL = "all"
    SHARE = "share"

    def __str__(self) -> str:
        return str(self.value)
