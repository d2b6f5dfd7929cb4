from enum import StrEnum

class VerifierMathPlace(StrEnum):
    BOXED = "boxed"
    FINAL_ANSWER = "final_answer"
    LAST = "last"
    MARKER = "marker"

    def __str__(self) -> str:
        return str(self.value)
