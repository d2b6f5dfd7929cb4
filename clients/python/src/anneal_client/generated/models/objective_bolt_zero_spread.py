from enum import StrEnum

class ObjectiveBoltZeroSpread(StrEnum):
    KEEP = "keep"
    SKIP = "skip"

    def __str__(self) -> str:
        return str(self.value)
