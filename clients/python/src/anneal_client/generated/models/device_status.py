from enum import StrEnum

class DeviceStatus(StrEnum):
    BUSY = "busy"
    CHECKING = "checking"
    FAULTED = "faulted"
    FOREIGN = "foreign"
    IDLE = "idle"
    RESERVED = "reserved"

    def __str__(self) -> str:
        return str(self.value)
