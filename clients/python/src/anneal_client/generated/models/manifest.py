from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.checkpoint_kind import CheckpointKind
from typing import cast

if TYPE_CHECKING:
  from ..models.checkpoint_file import CheckpointFile

T = TypeVar("T", bound="Manifest")

@_attrs_define
class Manifest:
    """ The content of `manifest.json`: every file with its size and sha256.

        Attributes:
            format_ (int): Version of this format.
            kind (CheckpointKind): What a checkpoint is for.
            job (str):
            attempt (int):
            step (int): Optimizer steps taken.
            spec_digest (str): `sha256:` and the digest of the resolved spec.
            files (list[CheckpointFile]):
     """

    format_: int
    kind: CheckpointKind
    job: str
    attempt: int
    step: int
    spec_digest: str
    files: list[CheckpointFile]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        format_ = self.format_

        kind = self.kind.value

        job = self.job

        attempt = self.attempt

        step = self.step

        spec_digest = self.spec_digest

        files = []
        for files_item_data in self.files:
            files_item = files_item_data.to_dict()
            files.append(files_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "format": format_,
            "kind": kind,
            "job": job,
            "attempt": attempt,
            "step": step,
            "spec_digest": spec_digest,
            "files": files,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        d = dict(src_dict)
        format_ = d.pop("format")

        kind = CheckpointKind(d.pop("kind"))

        job = d.pop("job")

        attempt = d.pop("attempt")

        step = d.pop("step")

        spec_digest = d.pop("spec_digest")

        files = []
        _files = d.pop("files")
        for files_item_data in (_files):
            files_item = CheckpointFile.from_dict(files_item_data)

            files.append(files_item)

        manifest = cls(
            format_=format_,
            kind=kind,
            job=job,
            attempt=attempt,
            step=step,
            spec_digest=spec_digest,
            files=files,
        )

        manifest.additional_properties = d
        return manifest

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
