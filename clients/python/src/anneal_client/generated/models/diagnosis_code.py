from enum import StrEnum

class DiagnosisCode(StrEnum):
    ENTROPY_COLLAPSE = "entropy_collapse"
    GRADIENT_SPIKE = "gradient_spike"
    KL_SPIKE = "kl_spike"
    LEARNING_RATE_TOO_HIGH = "learning_rate_too_high"
    LENGTH_WITHOUT_REWARD = "length_without_reward"
    LOW_ESS = "low_ess"
    NO_SPREAD = "no_spread"
    SPECIAL_TOKENS = "special_tokens"
    TRUNCATED = "truncated"
    VERIFIER_ERRORS = "verifier_errors"

    def __str__(self) -> str:
        return str(self.value)
