from enum import StrEnum

class EmaConvention(StrEnum):
    AS_PRINTED = "as_printed"
    STANDARD = "standard"

    def __str__(self) -> str:
        return str(self.value)
