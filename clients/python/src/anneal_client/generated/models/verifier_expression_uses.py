from enum import StrEnum

class VerifierExpressionUses(StrEnum):
    ALL = "all"
    SOME = "some"

    def __str__(self) -> str:
        return str(self.value)
