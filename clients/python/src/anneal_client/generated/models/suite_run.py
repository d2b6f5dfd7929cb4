from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.suite_run_of_set import SuiteRunOfSet

T = TypeVar("T", bound="SuiteRun")

@_attrs_define
class SuiteRun:
    """ A model on the sets of a suite.

        Attributes:
            id (str):
            object_ (Literal['suite_run']):
            suite (str):
            model (str):
            status (str): `running` until all evaluations are over, and then `succeeded`, or `failed` or `cancelled` if one
                of them is. Those that
                were deleted do not count; `deleted` when all are.
            sets (list[SuiteRunOfSet]): In the suite's order.
            created_at (int): Unix seconds.
     """

    id: str
    object_: Literal['suite_run']
    suite: str
    model: str
    status: str
    sets: list[SuiteRunOfSet]
    created_at: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.suite_run_of_set import SuiteRunOfSet # noqa: PLC0415
        id = self.id

        object_ = self.object_

        suite = self.suite

        model = self.model

        status = self.status

        sets = []
        for sets_item_data in self.sets:
            sets_item = sets_item_data.to_dict()
            sets.append(sets_item)

        created_at = self.created_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "suite": suite,
            "model": model,
            "status": status,
            "sets": sets,
            "created_at": created_at,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.suite_run_of_set import SuiteRunOfSet # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['suite_run'] , d.pop("object"))
        if object_ != 'suite_run':
            raise ValueError(f"object must match const 'suite_run', got '{object_}'")

        suite = d.pop("suite")

        model = d.pop("model")

        status = d.pop("status")

        sets = []
        _sets = d.pop("sets")
        for sets_item_data in (_sets):
            sets_item = SuiteRunOfSet.from_dict(sets_item_data)

            sets.append(sets_item)

        created_at = d.pop("created_at")

        suite_run = cls(
            id=id,
            object_=object_,
            suite=suite,
            model=model,
            status=status,
            sets=sets,
            created_at=created_at,
        )

        suite_run.additional_properties = d
        return suite_run

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
