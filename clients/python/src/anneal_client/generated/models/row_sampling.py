from enum import StrEnum

class RowSampling(StrEnum):
    ADAPTIVE = "adaptive"
    UNIFORM = "uniform"

    def __str__(self) -> str:
        return str(self.value)
