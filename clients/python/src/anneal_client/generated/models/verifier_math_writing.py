from enum import StrEnum

class VerifierMathWriting(StrEnum):
    LATEX = "latex"
    PLAIN = "plain"
    TEXT = "text"

    def __str__(self) -> str:
        return str(self.value)
