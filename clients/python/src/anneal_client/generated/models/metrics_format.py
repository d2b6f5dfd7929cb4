from enum import StrEnum

class MetricsFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    TENSORBOARD = "tensorboard"

    def __str__(self) -> str:
        return str(self.value)
