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
  from ..models.file_object import FileObject

T = TypeVar("T", bound="Upload")

@_attrs_define
class Upload:
    """ An upload.

        Attributes:
            id (str):
            object_ (Literal['upload']):
            bytes_ (int): Of the whole file.
            created_at (int): Unix seconds.
            expires_at (int): Unix seconds.
            filename (str):
            purpose (str):
            status (str): `pending`, `completed`, `cancelled` or `expired`.
            file (FileObject | None | Unset): What a completed upload has become.
     """

    id: str
    object_: Literal['upload']
    bytes_: int
    created_at: int
    expires_at: int
    filename: str
    purpose: str
    status: str
    file: FileObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.file_object import FileObject # noqa: PLC0415
        id = self.id

        object_ = self.object_

        bytes_ = self.bytes_

        created_at = self.created_at

        expires_at = self.expires_at

        filename = self.filename

        purpose = self.purpose

        status = self.status

        file: dict[str, Any] | None | Unset
        if isinstance(self.file, Unset):
            file = UNSET
        elif isinstance(self.file, FileObject):
            file = self.file.to_dict()
        else:
            file = self.file

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "bytes": bytes_,
            "created_at": created_at,
            "expires_at": expires_at,
            "filename": filename,
            "purpose": purpose,
            "status": status,
        })
        if file is not UNSET:
            field_dict["file"] = file

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.file_object import FileObject # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['upload'] , d.pop("object"))
        if object_ != 'upload':
            raise ValueError(f"object must match const 'upload', got '{object_}'")

        bytes_ = d.pop("bytes")

        created_at = d.pop("created_at")

        expires_at = d.pop("expires_at")

        filename = d.pop("filename")

        purpose = d.pop("purpose")

        status = d.pop("status")

        def _parse_file(data: object) -> FileObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                file_type_0 = FileObject.from_dict(data)

                return file_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FileObject | None | Unset, data)

        file = _parse_file(d.pop("file", UNSET))

        upload = cls(
            id=id,
            object_=object_,
            bytes_=bytes_,
            created_at=created_at,
            expires_at=expires_at,
            filename=filename,
            purpose=purpose,
            status=status,
            file=file,
        )

        upload.additional_properties = d
        return upload

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
