from enum import StrEnum

class EnvironmentKind(StrEnum):
    CALCULATOR = "calculator"
    HTTP = "http"
    RETRY = "retry"

    def __str__(self) -> str:
        return str(self.value)
