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
  from ..models.duplicates_found import DuplicatesFound
  from ..models.leakage_found import LeakageFound
  from ..models.token_lengths import TokenLengths

T = TypeVar("T", bound="DatasetCheck")

@_attrs_define
class DatasetCheck:
    """ What was found. Rows are named by their numbers, counted from 0.

        Attributes:
            object_ (Literal['dataset.check']):
            version (str):
            rows (int): Rows that were compared; of a version that is split, those to train on.
            complete (bool): Whether that were all: reading ends after five minutes.
            duplicates (DuplicatesFound): Prompts that come again. Of a version that is checked against its own held-out
                part these are of both parts.
            leakage (LeakageFound | None | Unset): Held-out rows that are also trained on; null where there are none to look
                for.
            tokens (None | TokenLengths | Unset): How many tokens the rows have; null without a `model`.
     """

    object_: Literal['dataset.check']
    version: str
    rows: int
    complete: bool
    duplicates: DuplicatesFound
    leakage: LeakageFound | None | Unset = UNSET
    tokens: None | TokenLengths | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.duplicates_found import DuplicatesFound # noqa: PLC0415
        from ..models.leakage_found import LeakageFound # noqa: PLC0415
        from ..models.token_lengths import TokenLengths # noqa: PLC0415
        object_ = self.object_

        version = self.version

        rows = self.rows

        complete = self.complete

        duplicates = self.duplicates.to_dict()

        leakage: dict[str, Any] | None | Unset
        if isinstance(self.leakage, Unset):
            leakage = UNSET
        elif isinstance(self.leakage, LeakageFound):
            leakage = self.leakage.to_dict()
        else:
            leakage = self.leakage

        tokens: dict[str, Any] | None | Unset
        if isinstance(self.tokens, Unset):
            tokens = UNSET
        elif isinstance(self.tokens, TokenLengths):
            tokens = self.tokens.to_dict()
        else:
            tokens = self.tokens

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "version": version,
            "rows": rows,
            "complete": complete,
            "duplicates": duplicates,
        })
        if leakage is not UNSET:
            field_dict["leakage"] = leakage
        if tokens is not UNSET:
            field_dict["tokens"] = tokens

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.duplicates_found import DuplicatesFound # noqa: PLC0415
        from ..models.leakage_found import LeakageFound # noqa: PLC0415
        from ..models.token_lengths import TokenLengths # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['dataset.check'] , d.pop("object"))
        if object_ != 'dataset.check':
            raise ValueError(f"object must match const 'dataset.check', got '{object_}'")

        version = d.pop("version")

        rows = d.pop("rows")

        complete = d.pop("complete")

        duplicates = DuplicatesFound.from_dict(d.pop("duplicates"))

        def _parse_leakage(data: object) -> LeakageFound | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                leakage_type_0 = LeakageFound.from_dict(data)

                return leakage_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(LeakageFound | None | Unset, data)

        leakage = _parse_leakage(d.pop("leakage", UNSET))

        def _parse_tokens(data: object) -> None | TokenLengths | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                tokens_type_0 = TokenLengths.from_dict(data)

                return tokens_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TokenLengths | Unset, data)

        tokens = _parse_tokens(d.pop("tokens", UNSET))

        dataset_check = cls(
            object_=object_,
            version=version,
            rows=rows,
            complete=complete,
            duplicates=duplicates,
            leakage=leakage,
            tokens=tokens,
        )

        dataset_check.additional_properties = d
        return dataset_check

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
