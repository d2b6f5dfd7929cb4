from enum import StrEnum

class ForkControl(StrEnum):
    RANDOM_REWARDS = "random_rewards"
    SHUFFLED_REWARDS = "shuffled_rewards"
    UNFILTERED_PROMPTS = "unfiltered_prompts"

    def __str__(self) -> str:
        return str(self.value)
