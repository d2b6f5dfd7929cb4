from enum import StrEnum

class RowOrder(StrEnum):
    EASY_FIRST = "easy_first"
    FILE = "file"
    SHUFFLED = "shuffled"

    def __str__(self) -> str:
        return str(self.value)
