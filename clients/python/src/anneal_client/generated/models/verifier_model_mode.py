from enum import StrEnum

class VerifierModelMode(StrEnum):
    SCORE = "score"
    YES_LOGPROB = "yes_logprob"

    def __str__(self) -> str:
        return str(self.value)
