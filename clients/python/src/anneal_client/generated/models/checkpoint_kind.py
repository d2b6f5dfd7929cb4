from enum import StrEnum

class CheckpointKind(StrEnum):
    EVALUATION = "evaluation"
    INFERENCE = "inference"
    ROLLOUTS = "rollouts"
    TRAINING = "training"

    def __str__(self) -> str:
        return str(self.value)
