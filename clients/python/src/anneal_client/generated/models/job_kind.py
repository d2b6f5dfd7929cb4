from enum import StrEnum

class JobKind(StrEnum):
    EVALUATION = "evaluation"
    ROLLOUTS = "rollouts"
    TRAIN = "train"

    def __str__(self) -> str:
        return str(self.value)
