from enum import StrEnum

class ObjectiveP3OKlEstimator(StrEnum):
    IMPORTANCE = "importance"
    K3 = "k3"

    def __str__(self) -> str:
        return str(self.value)
