from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_environment_take import VerifierEnvironmentTake
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierEnvironment")

@_attrs_define
class VerifierEnvironment:
    """ The rewards that the environment of a conversation gave, turn by turn.

        Attributes:
            type_ (Literal['environment']):
            take (VerifierEnvironmentTake | Unset):
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['environment']
    take: VerifierEnvironmentTake | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        take: str | Unset = UNSET
        if not isinstance(self.take, Unset):
            take = self.take.value

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if take is not UNSET:
            field_dict["take"] = take
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['environment'] , d.pop("type"))
        if type_ != 'environment':
            raise ValueError(f"type must match const 'environment', got '{type_}'")

        _take = d.pop("take", UNSET)
        take: VerifierEnvironmentTake | Unset
        if isinstance(_take,  Unset):
            take = UNSET
        else:
            take = VerifierEnvironmentTake(_take)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_environment = cls(
            type_=type_,
            take=take,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_environment
