from enum import StrEnum

class ObjectiveP3OEssScope(StrEnum):
    MICRO_BATCH = "micro_batch"
    STEP = "step"

    def __str__(self) -> str:
        return str(self.value)
