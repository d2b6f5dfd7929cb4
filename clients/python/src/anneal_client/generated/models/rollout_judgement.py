from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.judged_rollout import JudgedRollout

T = TypeVar("T", bound="RolloutJudgement")

@_attrs_define
class RolloutJudgement:
    """ What another verifier says of the completions of a prompt.

        Attributes:
            object_ (Literal['job.rollouts.judgement']):
            changed (int): How many rewards are not those that the job has given.
            data (list[JudgedRollout]):
     """

    object_: Literal['job.rollouts.judgement']
    changed: int
    data: list[JudgedRollout]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.judged_rollout import JudgedRollout # noqa: PLC0415
        object_ = self.object_

        changed = self.changed

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "changed": changed,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.judged_rollout import JudgedRollout # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['job.rollouts.judgement'] , d.pop("object"))
        if object_ != 'job.rollouts.judgement':
            raise ValueError(f"object must match const 'job.rollouts.judgement', got '{object_}'")

        changed = d.pop("changed")

        data = []
        _data = d.pop("data")
        for data_item_data in (_data):
            data_item = JudgedRollout.from_dict(data_item_data)

            data.append(data_item)

        rollout_judgement = cls(
            object_=object_,
            changed=changed,
            data=data,
        )

        rollout_judgement.additional_properties = d
        return rollout_judgement

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
