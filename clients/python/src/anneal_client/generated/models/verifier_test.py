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
  from ..models.test_verdict import TestVerdict

T = TypeVar("T", bound="VerifierTest")

@_attrs_define
class VerifierTest:
    """ The verdicts in the order of the completions.

        Attributes:
            object_ (Literal['verifier.test']):
            data (list[TestVerdict]):
            verifier (None | str | Unset): Null where it is not stored.
     """

    object_: Literal['verifier.test']
    data: list[TestVerdict]
    verifier: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.test_verdict import TestVerdict # noqa: PLC0415
        object_ = self.object_

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        verifier: None | str | Unset
        if isinstance(self.verifier, Unset):
            verifier = UNSET
        else:
            verifier = self.verifier

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "data": data,
        })
        if verifier is not UNSET:
            field_dict["verifier"] = verifier

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.test_verdict import TestVerdict # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['verifier.test'] , d.pop("object"))
        if object_ != 'verifier.test':
            raise ValueError(f"object must match const 'verifier.test', got '{object_}'")

        data = []
        _data = d.pop("data")
        for data_item_data in (_data):
            data_item = TestVerdict.from_dict(data_item_data)

            data.append(data_item)

        def _parse_verifier(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        verifier = _parse_verifier(d.pop("verifier", UNSET))

        verifier_test = cls(
            object_=object_,
            data=data,
            verifier=verifier,
        )

        verifier_test.additional_properties = d
        return verifier_test

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
