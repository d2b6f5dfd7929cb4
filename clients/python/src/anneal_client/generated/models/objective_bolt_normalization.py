from enum import StrEnum

class ObjectiveBoltNormalization(StrEnum):
    SEQUENCE = "sequence"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
