from enum import StrEnum

class Verdict(StrEnum):
    BETTER = "better"
    INCONCLUSIVE = "inconclusive"
    WORSE = "worse"

    def __str__(self) -> str:
        return str(self.value)
