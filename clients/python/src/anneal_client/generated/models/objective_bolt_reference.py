from enum import StrEnum

class ObjectiveBoltReference(StrEnum):
    INITIAL = "initial"
    PREVIOUS = "previous"

    def __str__(self) -> str:
        return str(self.value)
