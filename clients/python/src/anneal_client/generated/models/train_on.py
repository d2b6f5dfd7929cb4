from enum import StrEnum

class TrainOn(StrEnum):
    ALL_ASSISTANT = "all_assistant"
    LAST = "last"

    def __str__(self) -> str:
        return str(self.value)
