from enum import StrEnum

class VerifierSqlOrder(StrEnum):
    AS_EXPECTED = "as_expected"
    IGNORED = "ignored"
    KEPT = "kept"

    def __str__(self) -> str:
        return str(self.value)
