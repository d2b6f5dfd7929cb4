from enum import StrEnum

class DatasetDryRun(StrEnum):
    PREVIEW = "preview"

    def __str__(self) -> str:
        return str(self.value)
