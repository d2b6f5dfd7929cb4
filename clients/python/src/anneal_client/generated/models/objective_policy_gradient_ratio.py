from enum import StrEnum

class ObjectivePolicyGradientRatio(StrEnum):
    SEQUENCE = "sequence"
    SEQUENCE_MEAN = "sequence_mean"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
