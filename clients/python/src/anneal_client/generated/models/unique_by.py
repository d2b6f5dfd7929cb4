from enum import StrEnum

class UniqueBy(StrEnum):
    EXACT = "exact"
    NORMALISED = "normalised"

    def __str__(self) -> str:
        return str(self.value)
