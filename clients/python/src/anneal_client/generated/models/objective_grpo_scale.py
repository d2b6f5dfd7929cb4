from enum import StrEnum

class ObjectiveGrpoScale(StrEnum):
    NONE = "none"
    SAMPLE_STD = "sample_std"
    STD = "std"

    def __str__(self) -> str:
        return str(self.value)
