from enum import StrEnum

class Judged(StrEnum):
    CONVERSATION = "conversation"
    LAST_TURN = "last_turn"

    def __str__(self) -> str:
        return str(self.value)
