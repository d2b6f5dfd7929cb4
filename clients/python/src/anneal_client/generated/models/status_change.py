from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.job_status import JobStatus
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.job_failure import JobFailure

T = TypeVar("T", bound="StatusChange")

@_attrs_define
class StatusChange:
    """ The job moved to another status.

        Attributes:
            status (JobStatus): Where a job stands; `succeeded`, `failed` and `cancelled` are final.
            reason (str): Why, for people.
            failure (JobFailure | Unset): Why a job failed.
     """

    status: JobStatus
    reason: str
    failure: JobFailure | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_failure import JobFailure # noqa: PLC0415
        status = self.status.value

        reason = self.reason

        failure: dict[str, Any] | Unset = UNSET
        if not isinstance(self.failure, Unset):
            failure = self.failure.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "status": status,
            "reason": reason,
        })
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_failure import JobFailure # noqa: PLC0415
        d = dict(src_dict)
        status = JobStatus(d.pop("status"))

        reason = d.pop("reason")

        _failure = d.pop("failure", UNSET)
        failure: JobFailure | Unset
        if isinstance(_failure,  Unset):
            failure = UNSET
        else:
            failure = JobFailure.from_dict(_failure)

        status_change = cls(
            status=status,
            reason=reason,
            failure=failure,
        )

        status_change.additional_properties = d
        return status_change

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
