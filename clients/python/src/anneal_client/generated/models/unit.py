from enum import StrEnum

class Unit(StrEnum):
    CHARACTERS = "characters"
    WORDS = "words"

    def __str__(self) -> str:
        return str(self.value)
