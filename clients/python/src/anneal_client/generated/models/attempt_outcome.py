from enum import StrEnum

class AttemptOutcome(StrEnum):
    CANCELLED = "cancelled"
    DRAINED = "drained"
    FAILED = "failed"
    LOST = "lost"
    SUCCEEDED = "succeeded"

    def __str__(self) -> str:
        return str(self.value)
