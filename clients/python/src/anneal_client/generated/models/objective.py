from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject
  from ..models.objective_needs import ObjectiveNeeds
  from ..models.objective_paper import ObjectivePaper
  from ..models.objective_preset import ObjectivePreset

T = TypeVar("T", bound="Objective")

@_attrs_define
class Objective:
    """ A training objective.

        Attributes:
            id (str): The `type` in a spec.
            object_ (Literal['objective']):
            summary (str):
            formula (str):
            source (str): Where it was published.
            needs (ObjectiveNeeds): What an objective asks for.
            presets (list[ObjectivePreset]): Published methods that are settings of it.
            papers (list[ObjectivePaper]): The same by where they were published.
            schema (JsonObject): Any JSON object.
     """

    id: str
    object_: Literal['objective']
    summary: str
    formula: str
    source: str
    needs: ObjectiveNeeds
    presets: list[ObjectivePreset]
    papers: list[ObjectivePaper]
    schema: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.objective_needs import ObjectiveNeeds # noqa: PLC0415
        from ..models.objective_paper import ObjectivePaper # noqa: PLC0415
        from ..models.objective_preset import ObjectivePreset # noqa: PLC0415
        id = self.id

        object_ = self.object_

        summary = self.summary

        formula = self.formula

        source = self.source

        needs = self.needs.to_dict()

        presets = []
        for presets_item_data in self.presets:
            presets_item = presets_item_data.to_dict()
            presets.append(presets_item)

        papers = []
        for papers_item_data in self.papers:
            papers_item = papers_item_data.to_dict()
            papers.append(papers_item)

        schema = self.schema.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "summary": summary,
            "formula": formula,
            "source": source,
            "needs": needs,
            "presets": presets,
            "papers": papers,
            "schema": schema,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.objective_needs import ObjectiveNeeds # noqa: PLC0415
        from ..models.objective_paper import ObjectivePaper # noqa: PLC0415
        from ..models.objective_preset import ObjectivePreset # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['objective'] , d.pop("object"))
        if object_ != 'objective':
            raise ValueError(f"object must match const 'objective', got '{object_}'")

        summary = d.pop("summary")

        formula = d.pop("formula")

        source = d.pop("source")

        needs = ObjectiveNeeds.from_dict(d.pop("needs"))

        presets = []
        _presets = d.pop("presets")
        for presets_item_data in (_presets):
            presets_item = ObjectivePreset.from_dict(presets_item_data)

            presets.append(presets_item)

        papers = []
        _papers = d.pop("papers")
        for papers_item_data in (_papers):
            papers_item = ObjectivePaper.from_dict(papers_item_data)

            papers.append(papers_item)

        schema = JsonObject.from_dict(d.pop("schema"))

        objective = cls(
            id=id,
            object_=object_,
            summary=summary,
            formula=formula,
            source=source,
            needs=needs,
            presets=presets,
            papers=papers,
            schema=schema,
        )

        objective.additional_properties = d
        return objective

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
