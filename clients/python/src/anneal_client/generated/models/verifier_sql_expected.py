from enum import StrEnum

class VerifierSqlExpected(StrEnum):
    QUERY = "query"
    ROWS = "rows"

    def __str__(self) -> str:
        return str(self.value)
