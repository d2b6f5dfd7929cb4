from enum import StrEnum

class ObjectivePolicyGradientCorrection(StrEnum):
    CLIP = "clip"
    CLIPPED_WEIGHTS = "clipped_weights"
    DECOUPLED = "decoupled"
    IMPORTANCE = "importance"
    MASKED = "masked"
    NONE = "none"
    TRUNCATED = "truncated"

    def __str__(self) -> str:
        return str(self.value)
