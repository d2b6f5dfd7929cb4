from enum import StrEnum

class VerifierChoiceExtract(StrEnum):
    ALL = "all"
    ANYWHERE = "anywhere"
    BOXED = "boxed"
    LAST_LINE = "last_line"
    TAG = "tag"

    def __str__(self) -> str:
        return str(self.value)
