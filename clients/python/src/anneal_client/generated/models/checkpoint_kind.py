from enum import StrEnum

class CheckpointKind(StrEnum):
    EVALUATION = "evaluation"
    EXPORT = "export"
    INFERENCE = "inference"
    ROLLOUTS = "rollouts"
    TRAINING = "training"

    def __str__(self) -> str:
        return str(self.value)
