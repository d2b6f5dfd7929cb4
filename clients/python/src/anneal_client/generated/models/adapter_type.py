from enum import StrEnum

class AdapterType(StrEnum):
    LORA = "lora"

    def __str__(self) -> str:
        return str(self.value)
