from enum import StrEnum

class AdapterInit(StrEnum):
    KAIMING = "kaiming"
    PISSA = "pissa"
    ZERO_B = "zero_b"

    def __str__(self) -> str:
        return str(self.value)
