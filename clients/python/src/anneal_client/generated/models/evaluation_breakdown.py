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
  from ..models.breakdown_group import BreakdownGroup

T = TypeVar("T", bound="EvaluationBreakdown")

@_attrs_define
class EvaluationBreakdown:
    """ An evaluation group by group of its rows.

        Attributes:
            object_ (Literal['evaluation.breakdown']):
            evaluation (str):
            groups (list[BreakdownGroup]): By their values: numbers ascending, then texts. At most 100; the last one may be
                all others.
            by (None | str | Unset):
     """

    object_: Literal['evaluation.breakdown']
    evaluation: str
    groups: list[BreakdownGroup]
    by: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.breakdown_group import BreakdownGroup # noqa: PLC0415
        object_ = self.object_

        evaluation = self.evaluation

        groups = []
        for groups_item_data in self.groups:
            groups_item = groups_item_data.to_dict()
            groups.append(groups_item)

        by: None | str | Unset
        if isinstance(self.by, Unset):
            by = UNSET
        else:
            by = self.by

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "evaluation": evaluation,
            "groups": groups,
        })
        if by is not UNSET:
            field_dict["by"] = by

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.breakdown_group import BreakdownGroup # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['evaluation.breakdown'] , d.pop("object"))
        if object_ != 'evaluation.breakdown':
            raise ValueError(f"object must match const 'evaluation.breakdown', got '{object_}'")

        evaluation = d.pop("evaluation")

        groups = []
        _groups = d.pop("groups")
        for groups_item_data in (_groups):
            groups_item = BreakdownGroup.from_dict(groups_item_data)

            groups.append(groups_item)

        def _parse_by(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        by = _parse_by(d.pop("by", UNSET))

        evaluation_breakdown = cls(
            object_=object_,
            evaluation=evaluation,
            groups=groups,
            by=by,
        )

        evaluation_breakdown.additional_properties = d
        return evaluation_breakdown

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
