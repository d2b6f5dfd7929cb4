from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_string_check_operation import VerifierStringCheckOperation
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierStringCheck")

@_attrs_define
class VerifierStringCheck:
    """ A text made of the completion and columns equals or contains another (OpenAI's grader).

        Attributes:
            type_ (Literal['string_check']):
            input_ (str): What is compared, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`.
            reference (str): What it is compared with; a template as well.
            operation (VerifierStringCheckOperation): When the reward is 1; it is 0 otherwise.

                - `eq`: Both are the same.
                - `ne`: They differ.
                - `like`: The input contains the reference.
                - `ilike`: As `like`, upper and lower case being the same.
            name (None | str | Unset): A name for people.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['string_check']
    input_: str
    reference: str
    operation: VerifierStringCheckOperation
    name: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        input_ = self.input_

        reference = self.reference

        operation = self.operation.value

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "input": input_,
            "reference": reference,
            "operation": operation,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['string_check'] , d.pop("type"))
        if type_ != 'string_check':
            raise ValueError(f"type must match const 'string_check', got '{type_}'")

        input_ = d.pop("input")

        reference = d.pop("reference")

        operation = VerifierStringCheckOperation(d.pop("operation"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_string_check = cls(
            type_=type_,
            input_=input_,
            reference=reference,
            operation=operation,
            name=name,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_string_check
