from enum import StrEnum

class VerifierCodeFormat(StrEnum):
    APPS = "apps"
    AUTO = "auto"
    EVALPLUS = "evalplus"
    HUMANEVAL = "humaneval"
    LIVECODEBENCH = "livecodebench"
    MBPP = "mbpp"
    STDIO = "stdio"
    TESTS = "tests"

    def __str__(self) -> str:
        return str(self.value)
