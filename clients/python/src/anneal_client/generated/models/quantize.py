from enum import StrEnum

class Quantize(StrEnum):
    INT8 = "int8"

    def __str__(self) -> str:
        return str(self.value)
