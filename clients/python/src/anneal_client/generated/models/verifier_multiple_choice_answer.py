from enum import StrEnum

class VerifierMultipleChoiceAnswer(StrEnum):
    INDEX = "index"
    LETTER = "letter"
    TEXT = "text"

    def __str__(self) -> str:
        return str(self.value)
