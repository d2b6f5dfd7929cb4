from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.export_status import ExportStatus
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.checkpoint_file import CheckpointFile
  from ..models.export_failure import ExportFailure
  from ..models.export_push import ExportPush

T = TypeVar("T", bound="Export")

@_attrs_define
class Export:
    """ A finished checkpoint in a form that other programs read.

        Attributes:
            id (str):
            object_ (Literal['export']):
            checkpoint (str): What it is made of.
            job (str): The job that made the checkpoint; the export goes with it.
            format_ (str):
            status (ExportStatus): Whether an export can be downloaded.
            bytes_ (int): Of all files together; before it is ready, what they are expected to take.
            bytes_done (int): Bytes of weights that are written.
            files (list[CheckpointFile]): Empty until the export is ready. Download them from
                `/v1/exports/{id}/files/{path}`.
            created_at (int): Unix seconds.
            dtype (None | str | Unset): What weights are written as; null where they are as in the checkpoint.
            failure (ExportFailure | None | Unset): Why it failed; null for any other.
            push (ExportPush | None | Unset): The last push to the hub; null when it was never pushed.
            completed_at (int | None | Unset): Unix seconds.
     """

    id: str
    object_: Literal['export']
    checkpoint: str
    job: str
    format_: str
    status: ExportStatus
    bytes_: int
    bytes_done: int
    files: list[CheckpointFile]
    created_at: int
    dtype: None | str | Unset = UNSET
    failure: ExportFailure | None | Unset = UNSET
    push: ExportPush | None | Unset = UNSET
    completed_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        from ..models.export_failure import ExportFailure # noqa: PLC0415
        from ..models.export_push import ExportPush # noqa: PLC0415
        id = self.id

        object_ = self.object_

        checkpoint = self.checkpoint

        job = self.job

        format_ = self.format_

        status = self.status.value

        bytes_ = self.bytes_

        bytes_done = self.bytes_done

        files = []
        for files_item_data in self.files:
            files_item = files_item_data.to_dict()
            files.append(files_item)

        created_at = self.created_at

        dtype: None | str | Unset
        if isinstance(self.dtype, Unset):
            dtype = UNSET
        else:
            dtype = self.dtype

        failure: dict[str, Any] | None | Unset
        if isinstance(self.failure, Unset):
            failure = UNSET
        elif isinstance(self.failure, ExportFailure):
            failure = self.failure.to_dict()
        else:
            failure = self.failure

        push: dict[str, Any] | None | Unset
        if isinstance(self.push, Unset):
            push = UNSET
        elif isinstance(self.push, ExportPush):
            push = self.push.to_dict()
        else:
            push = self.push

        completed_at: int | None | Unset
        if isinstance(self.completed_at, Unset):
            completed_at = UNSET
        else:
            completed_at = self.completed_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "checkpoint": checkpoint,
            "job": job,
            "format": format_,
            "status": status,
            "bytes": bytes_,
            "bytes_done": bytes_done,
            "files": files,
            "created_at": created_at,
        })
        if dtype is not UNSET:
            field_dict["dtype"] = dtype
        if failure is not UNSET:
            field_dict["failure"] = failure
        if push is not UNSET:
            field_dict["push"] = push
        if completed_at is not UNSET:
            field_dict["completed_at"] = completed_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        from ..models.export_failure import ExportFailure # noqa: PLC0415
        from ..models.export_push import ExportPush # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['export'] , d.pop("object"))
        if object_ != 'export':
            raise ValueError(f"object must match const 'export', got '{object_}'")

        checkpoint = d.pop("checkpoint")

        job = d.pop("job")

        format_ = d.pop("format")

        status = ExportStatus(d.pop("status"))

        bytes_ = d.pop("bytes")

        bytes_done = d.pop("bytes_done")

        files = []
        _files = d.pop("files")
        for files_item_data in (_files):
            files_item = CheckpointFile.from_dict(files_item_data)

            files.append(files_item)

        created_at = d.pop("created_at")

        def _parse_dtype(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dtype = _parse_dtype(d.pop("dtype", UNSET))

        def _parse_failure(data: object) -> ExportFailure | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                failure_type_0 = ExportFailure.from_dict(data)

                return failure_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExportFailure | None | Unset, data)

        failure = _parse_failure(d.pop("failure", UNSET))

        def _parse_push(data: object) -> ExportPush | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                push_type_0 = ExportPush.from_dict(data)

                return push_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExportPush | None | Unset, data)

        push = _parse_push(d.pop("push", UNSET))

        def _parse_completed_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        completed_at = _parse_completed_at(d.pop("completed_at", UNSET))

        export = cls(
            id=id,
            object_=object_,
            checkpoint=checkpoint,
            job=job,
            format_=format_,
            status=status,
            bytes_=bytes_,
            bytes_done=bytes_done,
            files=files,
            created_at=created_at,
            dtype=dtype,
            failure=failure,
            push=push,
            completed_at=completed_at,
        )

        export.additional_properties = d
        return export

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
