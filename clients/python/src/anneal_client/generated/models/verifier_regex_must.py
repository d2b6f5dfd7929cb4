from enum import StrEnum

class VerifierRegexMust(StrEnum):
    FULL_MATCH = "full_match"
    MATCH = "match"

    def __str__(self) -> str:
        return str(self.value)
