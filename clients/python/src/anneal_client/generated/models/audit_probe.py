from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.audit_example import AuditExample

T = TypeVar("T", bound="AuditProbe")

@_attrs_define
class AuditProbe:
    """ How texts of one kind were judged.

        Attributes:
            name (str): `other_answer`, `empty`, `echo`, `all_answers`, `long` (the own text behind 64 Ki characters of
                something else) or
                `repeated` (the own text 50 times).
            passed (int):
            failed (int):
            unparsable (int):
            errors (int):
            pass_rate (float | None | Unset):
            example (AuditExample | None | Unset): The first text that passed or could not be judged.
     """

    name: str
    passed: int
    failed: int
    unparsable: int
    errors: int
    pass_rate: float | None | Unset = UNSET
    example: AuditExample | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        name = self.name

        passed = self.passed

        failed = self.failed

        unparsable = self.unparsable

        errors = self.errors

        pass_rate: float | None | Unset
        if isinstance(self.pass_rate, Unset):
            pass_rate = UNSET
        else:
            pass_rate = self.pass_rate

        example: dict[str, Any] | None | Unset
        if isinstance(self.example, Unset):
            example = UNSET
        elif isinstance(self.example, AuditExample):
            example = self.example.to_dict()
        else:
            example = self.example

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "passed": passed,
            "failed": failed,
            "unparsable": unparsable,
            "errors": errors,
        })
        if pass_rate is not UNSET:
            field_dict["pass_rate"] = pass_rate
        if example is not UNSET:
            field_dict["example"] = example

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        passed = d.pop("passed")

        failed = d.pop("failed")

        unparsable = d.pop("unparsable")

        errors = d.pop("errors")

        def _parse_pass_rate(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        pass_rate = _parse_pass_rate(d.pop("pass_rate", UNSET))

        def _parse_example(data: object) -> AuditExample | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                example_type_0 = AuditExample.from_dict(data)

                return example_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AuditExample | None | Unset, data)

        example = _parse_example(d.pop("example", UNSET))

        audit_probe = cls(
            name=name,
            passed=passed,
            failed=failed,
            unparsable=unparsable,
            errors=errors,
            pass_rate=pass_rate,
            example=example,
        )

        audit_probe.additional_properties = d
        return audit_probe

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
