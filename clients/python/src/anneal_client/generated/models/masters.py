from enum import StrEnum

class Masters(StrEnum):
    BF16 = "bf16"
    F32 = "f32"

    def __str__(self) -> str:
        return str(self.value)
