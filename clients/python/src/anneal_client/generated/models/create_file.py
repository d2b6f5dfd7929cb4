from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field
import json
from .. import types

from ..types import UNSET, Unset

from ..types import File, FileTypes
from ..types import UNSET, Unset
from io import BytesIO
from typing import cast

T = TypeVar("T", bound="CreateFile")

@_attrs_define
class CreateFile:
    """ The form of an upload.

        Attributes:
            file (File): The file; its name is kept without folders.
            purpose (str): `fine-tune` for files to train on; also `assistants`, `batch`, `evals`, `user_data`, `vision`.
            expires_afteranchor (None | str | Unset): `created_at`, if the file is to be removed by itself.
            expires_afterseconds (int | None | Unset): When, in seconds, from an hour to 30 days.
     """

    file: File
    purpose: str
    expires_afteranchor: None | str | Unset = UNSET
    expires_afterseconds: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        file = self.file.to_tuple()

        purpose = self.purpose

        expires_afteranchor: None | str | Unset
        if isinstance(self.expires_afteranchor, Unset):
            expires_afteranchor = UNSET
        else:
            expires_afteranchor = self.expires_afteranchor

        expires_afterseconds: int | None | Unset
        if isinstance(self.expires_afterseconds, Unset):
            expires_afterseconds = UNSET
        else:
            expires_afterseconds = self.expires_afterseconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "file": file,
            "purpose": purpose,
        })
        if expires_afteranchor is not UNSET:
            field_dict["expires_after[anchor]"] = expires_afteranchor
        if expires_afterseconds is not UNSET:
            field_dict["expires_after[seconds]"] = expires_afterseconds

        return field_dict

    def to_multipart(self) -> types.RequestFiles:
        files: types.RequestFiles = []

        files.append(("file", self.file.to_tuple()))

        files.append(("purpose", (None, str(self.purpose).encode(), "text/plain")))

        if not isinstance(self.expires_afteranchor, Unset):
            if isinstance(self.expires_afteranchor, str):

                files.append(("expires_after[anchor]", (None, str(self.expires_afteranchor).encode(), "text/plain")))
            else:
                files.append(("expires_after[anchor]", (None, str(self.expires_afteranchor).encode(), "text/plain")))

        if not isinstance(self.expires_afterseconds, Unset):
            if isinstance(self.expires_afterseconds, int):

                files.append(("expires_after[seconds]", (None, str(self.expires_afterseconds).encode(), "text/plain")))
            else:
                files.append(("expires_after[seconds]", (None, str(self.expires_afterseconds).encode(), "text/plain")))

        for prop_name, prop in self.additional_properties.items():
            files.append((prop_name, (None, str(prop).encode(), "text/plain")))

        return files

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        file = File(
             payload = BytesIO(d.pop("file"))
        )

        purpose = d.pop("purpose")

        def _parse_expires_afteranchor(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        expires_afteranchor = _parse_expires_afteranchor(d.pop("expires_after[anchor]", UNSET))

        def _parse_expires_afterseconds(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expires_afterseconds = _parse_expires_afterseconds(d.pop("expires_after[seconds]", UNSET))

        create_file = cls(
            file=file,
            purpose=purpose,
            expires_afteranchor=expires_afteranchor,
            expires_afterseconds=expires_afterseconds,
        )

        create_file.additional_properties = d
        return create_file

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
