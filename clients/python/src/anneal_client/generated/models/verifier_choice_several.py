from enum import StrEnum

class VerifierChoiceSeveral(StrEnum):
    FIRST = "first"
    LAST = "last"
    REFUSE = "refuse"

    def __str__(self) -> str:
        return str(self.value)
