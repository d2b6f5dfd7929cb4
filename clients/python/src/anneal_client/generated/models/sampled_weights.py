from enum import StrEnum

class SampledWeights(StrEnum):
    BF16 = "bf16"
    INT8 = "int8"

    def __str__(self) -> str:
        return str(self.value)
