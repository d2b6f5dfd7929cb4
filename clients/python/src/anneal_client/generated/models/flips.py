from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.flip import Flip

T = TypeVar("T", bound="Flips")

@_attrs_define
class Flips:
    """ Prompts that one of two evaluations solves, with at least half of the completions, and the other does not. Their
    completions are those of `GET /v1/evaluations/{id}/results?differs_from=...` of either.

        Attributes:
            gained (int): How many the candidate solves and the baseline does not.
            lost (int): How many the baseline solves and the candidate does not.
            prompts (list[Flip]): The first 100 of both kinds.
     """

    gained: int
    lost: int
    prompts: list[Flip]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.flip import Flip # noqa: PLC0415
        gained = self.gained

        lost = self.lost

        prompts = []
        for prompts_item_data in self.prompts:
            prompts_item = prompts_item_data.to_dict()
            prompts.append(prompts_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "gained": gained,
            "lost": lost,
            "prompts": prompts,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.flip import Flip # noqa: PLC0415
        d = dict(src_dict)
        gained = d.pop("gained")

        lost = d.pop("lost")

        prompts = []
        _prompts = d.pop("prompts")
        for prompts_item_data in (_prompts):
            prompts_item = Flip.from_dict(prompts_item_data)

            prompts.append(prompts_item)

        flips = cls(
            gained=gained,
            lost=lost,
            prompts=prompts,
        )

        flips.additional_properties = d
        return flips

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
