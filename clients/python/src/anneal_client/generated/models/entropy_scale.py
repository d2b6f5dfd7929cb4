from enum import StrEnum

class EntropyScale(StrEnum):
    ABSOLUTE = "absolute"
    RELATIVE = "relative"

    def __str__(self) -> str:
        return str(self.value)
