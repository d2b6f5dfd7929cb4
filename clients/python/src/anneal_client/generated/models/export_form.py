from enum import StrEnum

class ExportForm(StrEnum):
    ADAPTER = "adapter"
    GGUF = "gguf"
    MERGED = "merged"

    def __str__(self) -> str:
        return str(self.value)
