from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.checkpoint_kind import CheckpointKind
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.checkpoint_file import CheckpointFile

T = TypeVar("T", bound="Checkpoint")

@_attrs_define
class Checkpoint:
    """ A complete checkpoint.

        Attributes:
            id (str):
            object_ (Literal['checkpoint']):
            job (str):
            kind (CheckpointKind): What a checkpoint is for.
            step (int): Optimizer steps taken.
            attempt (int):
            bytes_ (int): Of all files together.
            files (list[CheckpointFile]):
            created_at (int): Unix seconds.
            score (float | None | Unset): Mean pass@k, for the first k of `eval.pass_at`, of the evaluation at its step;
                null where there was none.
     """

    id: str
    object_: Literal['checkpoint']
    job: str
    kind: CheckpointKind
    step: int
    attempt: int
    bytes_: int
    files: list[CheckpointFile]
    created_at: int
    score: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        id = self.id

        object_ = self.object_

        job = self.job

        kind = self.kind.value

        step = self.step

        attempt = self.attempt

        bytes_ = self.bytes_

        files = []
        for files_item_data in self.files:
            files_item = files_item_data.to_dict()
            files.append(files_item)

        created_at = self.created_at

        score: float | None | Unset
        if isinstance(self.score, Unset):
            score = UNSET
        else:
            score = self.score

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "job": job,
            "kind": kind,
            "step": step,
            "attempt": attempt,
            "bytes": bytes_,
            "files": files,
            "created_at": created_at,
        })
        if score is not UNSET:
            field_dict["score"] = score

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['checkpoint'] , d.pop("object"))
        if object_ != 'checkpoint':
            raise ValueError(f"object must match const 'checkpoint', got '{object_}'")

        job = d.pop("job")

        kind = CheckpointKind(d.pop("kind"))

        step = d.pop("step")

        attempt = d.pop("attempt")

        bytes_ = d.pop("bytes")

        files = []
        _files = d.pop("files")
        for files_item_data in (_files):
            files_item = CheckpointFile.from_dict(files_item_data)

            files.append(files_item)

        created_at = d.pop("created_at")

        def _parse_score(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        score = _parse_score(d.pop("score", UNSET))

        checkpoint = cls(
            id=id,
            object_=object_,
            job=job,
            kind=kind,
            step=step,
            attempt=attempt,
            bytes_=bytes_,
            files=files,
            created_at=created_at,
            score=score,
        )

        checkpoint.additional_properties = d
        return checkpoint

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
