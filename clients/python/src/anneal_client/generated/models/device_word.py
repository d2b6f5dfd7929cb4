from enum import StrEnum

class DeviceWord(StrEnum):
    ASKED = "asked"
    CHECK_BEGAN = "check_began"
    CHECK_ENDED = "check_ended"
    FAULTED = "faulted"
    OBSERVED = "observed"

    def __str__(self) -> str:
        return str(self.value)
