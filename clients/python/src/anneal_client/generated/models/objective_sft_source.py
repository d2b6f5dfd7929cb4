from enum import StrEnum

class ObjectiveSftSource(StrEnum):
    DATASET = "dataset"
    SUCCESSES = "successes"

    def __str__(self) -> str:
        return str(self.value)
