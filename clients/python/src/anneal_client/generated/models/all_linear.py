from enum import StrEnum

class AllLinear(StrEnum):
    ALL_LINEAR = "all_linear"

    def __str__(self) -> str:
        return str(self.value)
