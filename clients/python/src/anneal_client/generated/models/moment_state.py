from enum import StrEnum

class MomentState(StrEnum):
    BF16 = "bf16"
    F32 = "f32"
    INT8 = "int8"

    def __str__(self) -> str:
        return str(self.value)
