from enum import StrEnum

class PromptFormat(StrEnum):
    AUTO = "auto"
    CHAT = "chat"
    TEXT = "text"

    def __str__(self) -> str:
        return str(self.value)
