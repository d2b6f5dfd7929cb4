from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.expires_after import ExpiresAfter

T = TypeVar("T", bound="CreateUpload")

@_attrs_define
class CreateUpload:
    """ The file that is going to be sent.

        Attributes:
            filename (str):
            purpose (str): `fine-tune` for files to train on; also `assistants`, `batch`, `evals`, `user_data`, `vision`.
            bytes_ (int): Of the whole file.
            mime_type (str): Kept and not checked.
            expires_after (ExpiresAfter | None | Unset): When the finished file is to be removed by itself.
     """

    filename: str
    purpose: str
    bytes_: int
    mime_type: str
    expires_after: ExpiresAfter | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.expires_after import ExpiresAfter # noqa: PLC0415
        filename = self.filename

        purpose = self.purpose

        bytes_ = self.bytes_

        mime_type = self.mime_type

        expires_after: dict[str, Any] | None | Unset
        if isinstance(self.expires_after, Unset):
            expires_after = UNSET
        elif isinstance(self.expires_after, ExpiresAfter):
            expires_after = self.expires_after.to_dict()
        else:
            expires_after = self.expires_after

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "filename": filename,
            "purpose": purpose,
            "bytes": bytes_,
            "mime_type": mime_type,
        })
        if expires_after is not UNSET:
            field_dict["expires_after"] = expires_after

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.expires_after import ExpiresAfter # noqa: PLC0415
        d = dict(src_dict)
        filename = d.pop("filename")

        purpose = d.pop("purpose")

        bytes_ = d.pop("bytes")

        mime_type = d.pop("mime_type")

        def _parse_expires_after(data: object) -> ExpiresAfter | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                expires_after_type_0 = ExpiresAfter.from_dict(data)

                return expires_after_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExpiresAfter | None | Unset, data)

        expires_after = _parse_expires_after(d.pop("expires_after", UNSET))

        create_upload = cls(
            filename=filename,
            purpose=purpose,
            bytes_=bytes_,
            mime_type=mime_type,
            expires_after=expires_after,
        )

        return create_upload
