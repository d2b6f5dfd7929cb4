from enum import StrEnum

class ChatContentPartType(StrEnum):
    TEXT = "text"

    def __str__(self) -> str:
        return str(self.value)
