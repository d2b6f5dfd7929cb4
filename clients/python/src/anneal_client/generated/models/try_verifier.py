from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject
  from ..models.test_completion import TestCompletion

T = TypeVar("T", bound="TryVerifier")

@_attrs_define
class TryVerifier:
    """ A configuration and completions to judge with it.

        Attributes:
            config (JsonObject): Any JSON object.
            completions (list[TestCompletion]): Up to 100.
     """

    config: JsonObject
    completions: list[TestCompletion]

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.test_completion import TestCompletion # noqa: PLC0415
        config = self.config.to_dict()

        completions = []
        for completions_item_data in self.completions:
            completions_item = completions_item_data.to_dict()
            completions.append(completions_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "config": config,
            "completions": completions,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.test_completion import TestCompletion # noqa: PLC0415
        d = dict(src_dict)
        config = JsonObject.from_dict(d.pop("config"))

        completions = []
        _completions = d.pop("completions")
        for completions_item_data in (_completions):
            completions_item = TestCompletion.from_dict(completions_item_data)

            completions.append(completions_item)

        try_verifier = cls(
            config=config,
            completions=completions,
        )

        return try_verifier
