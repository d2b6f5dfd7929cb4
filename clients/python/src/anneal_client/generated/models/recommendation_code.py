from enum import StrEnum

class RecommendationCode(StrEnum):
    ESS_FLOOR = "ess_floor"
    LARGEST_LISTED = "largest_listed"
    NO_SPREAD = "no_spread"
    REACHED = "reached"
    SMALLEST_LISTED = "smallest_listed"
    TOO_FEW_COMPLETIONS = "too_few_completions"

    def __str__(self) -> str:
        return str(self.value)
