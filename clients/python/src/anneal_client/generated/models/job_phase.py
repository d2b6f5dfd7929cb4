from enum import StrEnum

class JobPhase(StrEnum):
    CHECKPOINTING = "checkpointing"
    EVALUATING = "evaluating"
    EXPORTING = "exporting"
    FETCHING = "fetching"
    LOADING = "loading"
    SAMPLING = "sampling"
    TRAINING = "training"
    VERIFYING = "verifying"

    def __str__(self) -> str:
        return str(self.value)
