from enum import StrEnum

class Word(StrEnum):
    CANCEL = "cancel"
    GO_ON = "go_on"
    LOST = "lost"
    PAUSE = "pause"

    def __str__(self) -> str:
        return str(self.value)
