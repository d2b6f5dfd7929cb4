from enum import StrEnum

class ObjectiveVopdEstimator(StrEnum):
    FULL_KL = "full_kl"
    SCORE = "score"
    TOP_K_KL = "top_k_kl"

    def __str__(self) -> str:
        return str(self.value)
