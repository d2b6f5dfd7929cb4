from enum import StrEnum

class AlphaFollows(StrEnum):
    ENTROPY = "entropy"
    LOG_STEPS = "log_steps"
    SOLVE_RATE = "solve_rate"

    def __str__(self) -> str:
        return str(self.value)
