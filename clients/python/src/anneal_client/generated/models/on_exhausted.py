from enum import StrEnum

class OnExhausted(StrEnum):
    CANCEL = "cancel"
    FAIL = "fail"
    PAUSE = "pause"

    def __str__(self) -> str:
        return str(self.value)
