from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.fork_control import ForkControl
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.fork_difference import ForkDifference

T = TypeVar("T", bound="ReportedFork")

@_attrs_define
class ReportedFork:
    """ A fork of a job beside it.

        Attributes:
            job (str):
            status (str):
            name (None | str | Unset):
            control (ForkControl | None | Unset): What it is a control run of.
            pass_at_1 (float | None | Unset): After its last step.
            difference (ForkDifference | None | Unset): The job's pass@1 less the fork's, after their last steps; where both
                were evaluated on the same rows, at most 1,024 of
                them, with as many completions, the same verifier and temperature. What else of the spec differs, differs here
                too.
     """

    job: str
    status: str
    name: None | str | Unset = UNSET
    control: ForkControl | None | Unset = UNSET
    pass_at_1: float | None | Unset = UNSET
    difference: ForkDifference | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.fork_difference import ForkDifference # noqa: PLC0415
        job = self.job

        status = self.status

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        control: None | str | Unset
        if isinstance(self.control, Unset):
            control = UNSET
        elif isinstance(self.control, ForkControl):
            control = self.control.value
        else:
            control = self.control

        pass_at_1: float | None | Unset
        if isinstance(self.pass_at_1, Unset):
            pass_at_1 = UNSET
        else:
            pass_at_1 = self.pass_at_1

        difference: dict[str, Any] | None | Unset
        if isinstance(self.difference, Unset):
            difference = UNSET
        elif isinstance(self.difference, ForkDifference):
            difference = self.difference.to_dict()
        else:
            difference = self.difference

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "job": job,
            "status": status,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if control is not UNSET:
            field_dict["control"] = control
        if pass_at_1 is not UNSET:
            field_dict["pass_at_1"] = pass_at_1
        if difference is not UNSET:
            field_dict["difference"] = difference

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fork_difference import ForkDifference # noqa: PLC0415
        d = dict(src_dict)
        job = d.pop("job")

        status = d.pop("status")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_control(data: object) -> ForkControl | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                control_type_0 = ForkControl(data)

                return control_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForkControl | None | Unset, data)

        control = _parse_control(d.pop("control", UNSET))

        def _parse_pass_at_1(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        pass_at_1 = _parse_pass_at_1(d.pop("pass_at_1", UNSET))

        def _parse_difference(data: object) -> ForkDifference | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                difference_type_0 = ForkDifference.from_dict(data)

                return difference_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForkDifference | None | Unset, data)

        difference = _parse_difference(d.pop("difference", UNSET))

        reported_fork = cls(
            job=job,
            status=status,
            name=name,
            control=control,
            pass_at_1=pass_at_1,
            difference=difference,
        )

        reported_fork.additional_properties = d
        return reported_fork

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
