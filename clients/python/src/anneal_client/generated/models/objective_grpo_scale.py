from enum import StrEnum

class ObjectiveGrpoScale(StrEnum):
    NONE = "none"
    STD = "std"

    def __str__(self) -> str:
        return str(self.value)
