from enum import StrEnum

class ObjectivePolicyGradientCorrection(StrEnum):
    CLIP = "clip"
    IMPORTANCE = "importance"
    NONE = "none"

    def __str__(self) -> str:
        return str(self.value)
