from enum import StrEnum

class Answerer(StrEnum):
    TOOL = "tool"
    USER = "user"

    def __str__(self) -> str:
        return str(self.value)
