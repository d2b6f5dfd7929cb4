from enum import StrEnum

class RewardControl(StrEnum):
    RANDOM_REWARDS = "random_rewards"
    SHUFFLED_REWARDS = "shuffled_rewards"

    def __str__(self) -> str:
        return str(self.value)
