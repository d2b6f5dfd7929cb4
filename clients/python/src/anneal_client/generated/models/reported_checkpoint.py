from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.reported_checkpoint_sha_256 import ReportedCheckpointSha256

T = TypeVar("T", bound="ReportedCheckpoint")

@_attrs_define
class ReportedCheckpoint:
    """ A checkpoint with the digests of its files.

        Attributes:
            id (str):
            kind (str):
            step (int):
            bytes_ (int):
            sha256 (ReportedCheckpointSha256): Hexadecimal sha256 by name of file.
     """

    id: str
    kind: str
    step: int
    bytes_: int
    sha256: ReportedCheckpointSha256
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.reported_checkpoint_sha_256 import ReportedCheckpointSha256 # noqa: PLC0415
        id = self.id

        kind = self.kind

        step = self.step

        bytes_ = self.bytes_

        sha256 = self.sha256.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "kind": kind,
            "step": step,
            "bytes": bytes_,
            "sha256": sha256,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.reported_checkpoint_sha_256 import ReportedCheckpointSha256 # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        kind = d.pop("kind")

        step = d.pop("step")

        bytes_ = d.pop("bytes")

        sha256 = ReportedCheckpointSha256.from_dict(d.pop("sha256"))

        reported_checkpoint = cls(
            id=id,
            kind=kind,
            step=step,
            bytes_=bytes_,
            sha256=sha256,
        )

        reported_checkpoint.additional_properties = d
        return reported_checkpoint

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
