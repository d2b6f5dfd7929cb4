from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.verifier_multi_graders import VerifierMultiGraders

T = TypeVar("T", bound="VerifierMulti")

@_attrs_define
class VerifierMulti:
    """ A formula over the rewards of several verifiers (OpenAI's grader).

        Attributes:
            type_ (Literal['multi']):
            graders (VerifierMultiGraders): The members by the names that the formula gives them: any verifier besides
                `multi`.
            calculate_output (str): The reward, for example `0.8 * right + 0.2 * max(brief, 0.5)`; operators are `+ - * /
                ^`, functions are `min`,
                `max`, `abs`, `floor`, `ceil`, `exp`, `sqrt` and `log`.
            name (None | str | Unset): A name for people.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['multi']
    graders: VerifierMultiGraders
    calculate_output: str
    name: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.verifier_multi_graders import VerifierMultiGraders # noqa: PLC0415
        type_ = self.type_

        graders = self.graders.to_dict()

        calculate_output = self.calculate_output

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "graders": graders,
            "calculate_output": calculate_output,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.verifier_multi_graders import VerifierMultiGraders # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['multi'] , d.pop("type"))
        if type_ != 'multi':
            raise ValueError(f"type must match const 'multi', got '{type_}'")

        graders = VerifierMultiGraders.from_dict(d.pop("graders"))

        calculate_output = d.pop("calculate_output")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_multi = cls(
            type_=type_,
            graders=graders,
            calculate_output=calculate_output,
            name=name,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_multi
