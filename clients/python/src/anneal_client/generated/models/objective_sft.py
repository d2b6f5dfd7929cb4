from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_sft_source import ObjectiveSftSource
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="ObjectiveSft")

@_attrs_define
class ObjectiveSft:
    """ Supervised fine-tuning on the data set's `completion` column, or on the model's own completions that pass.

        Attributes:
            type_ (Literal['sft']):
            source (ObjectiveSftSource | Unset): Where the completions come from.

                - `dataset`: The data set's `completion` column.
                - `successes`: The model itself: sampled, scored, and kept when the reward is at least 0.5.
            group_size (int | Unset): With `source: "successes"`: completions per prompt. Default: 8.
            rounds (int | Unset): With `source: "successes"`: sampling phases. Default: 1.
     """

    type_: Literal['sft']
    source: ObjectiveSftSource | Unset = UNSET
    group_size: int | Unset = 8
    rounds: int | Unset = 1

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        source: str | Unset = UNSET
        if not isinstance(self.source, Unset):
            source = self.source.value

        group_size = self.group_size

        rounds = self.rounds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if source is not UNSET:
            field_dict["source"] = source
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
        if rounds is not UNSET:
            field_dict["rounds"] = rounds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['sft'] , d.pop("type"))
        if type_ != 'sft':
            raise ValueError(f"type must match const 'sft', got '{type_}'")

        _source = d.pop("source", UNSET)
        source: ObjectiveSftSource | Unset
        if isinstance(_source,  Unset):
            source = UNSET
        else:
            source = ObjectiveSftSource(_source)

        group_size = d.pop("group_size", UNSET)

        rounds = d.pop("rounds", UNSET)

        objective_sft = cls(
            type_=type_,
            source=source,
            group_size=group_size,
            rounds=rounds,
        )

        return objective_sft
