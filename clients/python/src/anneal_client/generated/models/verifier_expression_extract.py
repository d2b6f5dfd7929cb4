from enum import StrEnum

class VerifierExpressionExtract(StrEnum):
    ALL = "all"
    BOXED = "boxed"
    LAST_LINE = "last_line"
    TAG = "tag"

    def __str__(self) -> str:
        return str(self.value)
