from enum import StrEnum

class AdapterInit(StrEnum):
    KAIMING = "kaiming"
    ZERO_B = "zero_b"

    def __str__(self) -> str:
        return str(self.value)
