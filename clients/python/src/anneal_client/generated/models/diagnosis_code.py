from enum import StrEnum

class DiagnosisCode(StrEnum):
    ENTROPY_COLLAPSE = "entropy_collapse"
    GRADIENT_SPIKE = "gradient_spike"
    KL_SPIKE = "kl_spike"
    LEARNING_RATE_TOO_HIGH = "learning_rate_too_high"
    LENGTH_WITHOUT_REWARD = "length_without_reward"
    LOW_ESS = "low_ess"
    NO_SPREAD = "no_spread"
    ONE_ANSWER = "one_answer"
    PASSED_WITHOUT_ANSWER = "passed_without_answer"
    REWARD_FOLLOWS_LENGTH = "reward_follows_length"
    SPECIAL_TOKENS = "special_tokens"
    TRUNCATED = "truncated"
    VERIFIER_ERRORS = "verifier_errors"

    def __str__(self) -> str:
        return str(self.value)
