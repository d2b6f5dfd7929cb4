from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CheckDataset")

@_attrs_define
class CheckDataset:
    """ What to look for.

        Attributes:
            against (None | str | Unset): Held-out rows to look for: a data set (`ds_...`, its latest version), a version
                (`dsv_...`) or a built-in; of one that
                is split its held-out part. By default the held-out part of this version, if it is split.
            ngram (int | Unset): Words in a row that a held-out prompt must share with a prompt that is trained on. Prompts
                with fewer words, but at
                least 5, are looked for as a whole. Default: 13.
            listed (int | Unset): Rows that each list names, the first ones; counts are of all. Default: 20.
            model (None | str | Unset): A model by whose tokenizer and chat template the tokens of prompts and completions
                are counted.
     """

    against: None | str | Unset = UNSET
    ngram: int | Unset = 13
    listed: int | Unset = 20
    model: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        against: None | str | Unset
        if isinstance(self.against, Unset):
            against = UNSET
        else:
            against = self.against

        ngram = self.ngram

        listed = self.listed

        model: None | str | Unset
        if isinstance(self.model, Unset):
            model = UNSET
        else:
            model = self.model

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if against is not UNSET:
            field_dict["against"] = against
        if ngram is not UNSET:
            field_dict["ngram"] = ngram
        if listed is not UNSET:
            field_dict["listed"] = listed
        if model is not UNSET:
            field_dict["model"] = model

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_against(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        against = _parse_against(d.pop("against", UNSET))

        ngram = d.pop("ngram", UNSET)

        listed = d.pop("listed", UNSET)

        def _parse_model(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        model = _parse_model(d.pop("model", UNSET))

        check_dataset = cls(
            against=against,
            ngram=ngram,
            listed=listed,
            model=model,
        )

        return check_dataset
