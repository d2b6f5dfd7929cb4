from enum import StrEnum

class JobStatus(StrEnum):
    CANCELLED = "cancelled"
    CANCELLING = "cancelling"
    FAILED = "failed"
    PAUSED = "paused"
    PAUSING = "pausing"
    QUEUED = "queued"
    RUNNING = "running"
    STARTING = "starting"
    SUCCEEDED = "succeeded"

    def __str__(self) -> str:
        return str(self.value)
