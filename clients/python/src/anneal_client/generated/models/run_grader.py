from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="RunGrader")

@_attrs_define
class RunGrader:
    """ A grader and what it shall judge.

        Attributes:
            grader (JsonObject): Any JSON object.
            model_sample (str): The completion, `{{ sample.output_text }}` of the grader's templates.
            item (JsonObject | Unset): Any JSON object.
     """

    grader: JsonObject
    model_sample: str
    item: JsonObject | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        grader = self.grader.to_dict()

        model_sample = self.model_sample

        item: dict[str, Any] | Unset = UNSET
        if not isinstance(self.item, Unset):
            item = self.item.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "grader": grader,
            "model_sample": model_sample,
        })
        if item is not UNSET:
            field_dict["item"] = item

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        grader = JsonObject.from_dict(d.pop("grader"))

        model_sample = d.pop("model_sample")

        _item = d.pop("item", UNSET)
        item: JsonObject | Unset
        if isinstance(_item,  Unset):
            item = UNSET
        else:
            item = JsonObject.from_dict(_item)

        run_grader = cls(
            grader=grader,
            model_sample=model_sample,
            item=item,
        )

        return run_grader
