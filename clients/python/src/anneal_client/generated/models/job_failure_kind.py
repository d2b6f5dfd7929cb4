from enum import StrEnum

class JobFailureKind(StrEnum):
    BUDGET_EXHAUSTED = "budget_exhausted"
    DEVICE_LOST = "device_lost"
    DIVERGED = "diverged"
    INTERNAL = "internal"
    INVALID_DATA = "invalid_data"
    OUT_OF_MEMORY = "out_of_memory"
    POISON = "poison"
    STORAGE_FULL = "storage_full"
    VERIFIER_ERROR_RATE = "verifier_error_rate"

    def __str__(self) -> str:
        return str(self.value)
