from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.job_expected_end import JobExpectedEnd

T = TypeVar("T", bound="JobProgress")

@_attrs_define
class JobProgress:
    """ How far a job is.

        Attributes:
            fraction (float): Of its steps, or of its present phase where nothing is trained; 0 to 1.
            expected_end (JobExpectedEnd | None | Unset): When the last step will be taken if steps go on as they did; null
                before the first one.
     """

    fraction: float
    expected_end: JobExpectedEnd | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_expected_end import JobExpectedEnd # noqa: PLC0415
        fraction = self.fraction

        expected_end: dict[str, Any] | None | Unset
        if isinstance(self.expected_end, Unset):
            expected_end = UNSET
        elif isinstance(self.expected_end, JobExpectedEnd):
            expected_end = self.expected_end.to_dict()
        else:
            expected_end = self.expected_end

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "fraction": fraction,
        })
        if expected_end is not UNSET:
            field_dict["expected_end"] = expected_end

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_expected_end import JobExpectedEnd # noqa: PLC0415
        d = dict(src_dict)
        fraction = d.pop("fraction")

        def _parse_expected_end(data: object) -> JobExpectedEnd | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                expected_end_type_0 = JobExpectedEnd.from_dict(data)

                return expected_end_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JobExpectedEnd | None | Unset, data)

        expected_end = _parse_expected_end(d.pop("expected_end", UNSET))

        job_progress = cls(
            fraction=fraction,
            expected_end=expected_end,
        )

        job_progress.additional_properties = d
        return job_progress

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
