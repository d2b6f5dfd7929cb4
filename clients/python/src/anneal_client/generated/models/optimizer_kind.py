from enum import StrEnum

class OptimizerKind(StrEnum):
    ADAMW = "adamw"
    MUON = "muon"

    def __str__(self) -> str:
        return str(self.value)
