from enum import StrEnum

class VerifierLengthRule(StrEnum):
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    RATIO = "ratio"
    SOFT_OVERLONG = "soft_overlong"
    TARGET = "target"

    def __str__(self) -> str:
        return str(self.value)
