from enum import StrEnum

class JobKind(StrEnum):
    ROLLOUTS = "rollouts"
    TRAIN = "train"

    def __str__(self) -> str:
        return str(self.value)
