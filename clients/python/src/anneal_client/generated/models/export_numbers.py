from enum import StrEnum

class ExportNumbers(StrEnum):
    BF16 = "bf16"
    F16 = "f16"
    F32 = "f32"
    Q4_K_M = "q4_k_m"
    Q8_0 = "q8_0"

    def __str__(self) -> str:
        return str(self.value)
