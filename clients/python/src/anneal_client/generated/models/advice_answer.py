from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.advice_measured import AdviceMeasured
  from ..models.advice_setting import AdviceSetting
  from ..models.advice_suggestion import AdviceSuggestion

T = TypeVar("T", bound="AdviceAnswer")

@_attrs_define
class AdviceAnswer:
    """ What a set says for and against each objective.

        Attributes:
            object_ (Literal['advice']):
            rollout_set (str):
            measured (AdviceMeasured): What was measured on a set, beside its frontier.
            suggestions (list[AdviceSuggestion]): The best first; those of equal score in a fixed order; last those that a
                reason of -3 speaks against.
            settings (list[AdviceSetting]):
            unknown (list[str]): What would matter and is not known.
     """

    object_: Literal['advice']
    rollout_set: str
    measured: AdviceMeasured
    suggestions: list[AdviceSuggestion]
    settings: list[AdviceSetting]
    unknown: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.advice_measured import AdviceMeasured # noqa: PLC0415
        from ..models.advice_setting import AdviceSetting # noqa: PLC0415
        from ..models.advice_suggestion import AdviceSuggestion # noqa: PLC0415
        object_ = self.object_

        rollout_set = self.rollout_set

        measured = self.measured.to_dict()

        suggestions = []
        for suggestions_item_data in self.suggestions:
            suggestions_item = suggestions_item_data.to_dict()
            suggestions.append(suggestions_item)

        settings = []
        for settings_item_data in self.settings:
            settings_item = settings_item_data.to_dict()
            settings.append(settings_item)

        unknown = self.unknown

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "rollout_set": rollout_set,
            "measured": measured,
            "suggestions": suggestions,
            "settings": settings,
            "unknown": unknown,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advice_measured import AdviceMeasured # noqa: PLC0415
        from ..models.advice_setting import AdviceSetting # noqa: PLC0415
        from ..models.advice_suggestion import AdviceSuggestion # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['advice'] , d.pop("object"))
        if object_ != 'advice':
            raise ValueError(f"object must match const 'advice', got '{object_}'")

        rollout_set = d.pop("rollout_set")

        measured = AdviceMeasured.from_dict(d.pop("measured"))

        suggestions = []
        _suggestions = d.pop("suggestions")
        for suggestions_item_data in (_suggestions):
            suggestions_item = AdviceSuggestion.from_dict(suggestions_item_data)

            suggestions.append(suggestions_item)

        settings = []
        _settings = d.pop("settings")
        for settings_item_data in (_settings):
            settings_item = AdviceSetting.from_dict(settings_item_data)

            settings.append(settings_item)

        unknown = cast(list[str], d.pop("unknown"))

        advice_answer = cls(
            object_=object_,
            rollout_set=rollout_set,
            measured=measured,
            suggestions=suggestions,
            settings=settings,
            unknown=unknown,
        )

        advice_answer.additional_properties = d
        return advice_answer

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
