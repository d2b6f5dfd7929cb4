from enum import StrEnum

class Auto(StrEnum):
    AUTO = "auto"

    def __str__(self) -> str:
        return str(self.value)
