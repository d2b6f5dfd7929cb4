from enum import StrEnum

class VerifierNumericExtract(StrEnum):
    BOXED = "boxed"
    LAST = "last"
    MARKER = "marker"
    TAG = "tag"

    def __str__(self) -> str:
        return str(self.value)
