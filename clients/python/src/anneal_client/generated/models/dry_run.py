from enum import StrEnum

class DryRun(StrEnum):
    PREFLIGHT = "preflight"
    VALIDATE = "validate"

    def __str__(self) -> str:
        return str(self.value)
