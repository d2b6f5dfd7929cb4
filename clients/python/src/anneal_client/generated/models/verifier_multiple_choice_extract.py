from enum import StrEnum

class VerifierMultipleChoiceExtract(StrEnum):
    ALL = "all"
    AUTO = "auto"
    BOXED = "boxed"
    TAG = "tag"

    def __str__(self) -> str:
        return str(self.value)
