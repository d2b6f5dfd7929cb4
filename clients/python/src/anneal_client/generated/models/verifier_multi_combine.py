from enum import StrEnum

class VerifierMultiCombine(StrEnum):
    ALL = "all"
    ANY = "any"
    MAX = "max"
    MIN = "min"
    PRODUCT = "product"
    SUM = "sum"
    WEIGHTED_MEAN = "weighted_mean"

    def __str__(self) -> str:
        return str(self.value)
