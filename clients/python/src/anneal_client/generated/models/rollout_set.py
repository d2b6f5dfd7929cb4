from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.rollout_set_status import RolloutSetStatus
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.checkpoint_file import CheckpointFile
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata
  from ..models.rollout_set_summary import RolloutSetSummary

T = TypeVar("T", bound="RolloutSet")

@_attrs_define
class RolloutSet:
    """ A rollout set.

        Attributes:
            id (str):
            object_ (Literal['rollout_set']):
            status (RolloutSetStatus): Whether a set can be read.
            job (str): The job that fills it.
            model (str): The model that samples.
            model_digest (str): `sha256:` and the digest of the model's weights; jobs that start from equal weights can
                learn from the set.
            tokenizer_digest (str): `sha256:` and the digest of the model's `tokenizer.json`.
            files (list[CheckpointFile]): Empty until the set is ready. Download them from `/v1/rollout-
                sets/{id}/files/{path}`.
            created_at (int): Unix seconds.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            name (None | str | Unset):
            summary (None | RolloutSetSummary | Unset): What the set holds; null until it is ready.
            bytes_ (int | None | Unset): Of all files together; null until the set is ready.
            completed_at (int | None | Unset): Unix seconds.
            spec (JsonObject | None | Unset): The spec with every default filled in and every reference resolved; null when
                a training job keeps what it
                samples, whose spec is that of the job.
     """

    id: str
    object_: Literal['rollout_set']
    status: RolloutSetStatus
    job: str
    model: str
    model_digest: str
    tokenizer_digest: str
    files: list[CheckpointFile]
    created_at: int
    metadata: Metadata
    name: None | str | Unset = UNSET
    summary: None | RolloutSetSummary | Unset = UNSET
    bytes_: int | None | Unset = UNSET
    completed_at: int | None | Unset = UNSET
    spec: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.rollout_set_summary import RolloutSetSummary # noqa: PLC0415
        id = self.id

        object_ = self.object_

        status = self.status.value

        job = self.job

        model = self.model

        model_digest = self.model_digest

        tokenizer_digest = self.tokenizer_digest

        files = []
        for files_item_data in self.files:
            files_item = files_item_data.to_dict()
            files.append(files_item)

        created_at = self.created_at

        metadata = self.metadata.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        summary: dict[str, Any] | None | Unset
        if isinstance(self.summary, Unset):
            summary = UNSET
        elif isinstance(self.summary, RolloutSetSummary):
            summary = self.summary.to_dict()
        else:
            summary = self.summary

        bytes_: int | None | Unset
        if isinstance(self.bytes_, Unset):
            bytes_ = UNSET
        else:
            bytes_ = self.bytes_

        completed_at: int | None | Unset
        if isinstance(self.completed_at, Unset):
            completed_at = UNSET
        else:
            completed_at = self.completed_at

        spec: dict[str, Any] | None | Unset
        if isinstance(self.spec, Unset):
            spec = UNSET
        elif isinstance(self.spec, JsonObject):
            spec = self.spec.to_dict()
        else:
            spec = self.spec

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "status": status,
            "job": job,
            "model": model,
            "model_digest": model_digest,
            "tokenizer_digest": tokenizer_digest,
            "files": files,
            "created_at": created_at,
            "metadata": metadata,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if summary is not UNSET:
            field_dict["summary"] = summary
        if bytes_ is not UNSET:
            field_dict["bytes"] = bytes_
        if completed_at is not UNSET:
            field_dict["completed_at"] = completed_at
        if spec is not UNSET:
            field_dict["spec"] = spec

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_file import CheckpointFile # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.rollout_set_summary import RolloutSetSummary # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['rollout_set'] , d.pop("object"))
        if object_ != 'rollout_set':
            raise ValueError(f"object must match const 'rollout_set', got '{object_}'")

        status = RolloutSetStatus(d.pop("status"))

        job = d.pop("job")

        model = d.pop("model")

        model_digest = d.pop("model_digest")

        tokenizer_digest = d.pop("tokenizer_digest")

        files = []
        _files = d.pop("files")
        for files_item_data in (_files):
            files_item = CheckpointFile.from_dict(files_item_data)

            files.append(files_item)

        created_at = d.pop("created_at")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_summary(data: object) -> None | RolloutSetSummary | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                summary_type_0 = RolloutSetSummary.from_dict(data)

                return summary_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RolloutSetSummary | Unset, data)

        summary = _parse_summary(d.pop("summary", UNSET))

        def _parse_bytes_(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        bytes_ = _parse_bytes_(d.pop("bytes", UNSET))

        def _parse_completed_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        completed_at = _parse_completed_at(d.pop("completed_at", UNSET))

        def _parse_spec(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                spec_type_0 = JsonObject.from_dict(data)

                return spec_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        spec = _parse_spec(d.pop("spec", UNSET))

        rollout_set = cls(
            id=id,
            object_=object_,
            status=status,
            job=job,
            model=model,
            model_digest=model_digest,
            tokenizer_digest=tokenizer_digest,
            files=files,
            created_at=created_at,
            metadata=metadata,
            name=name,
            summary=summary,
            bytes_=bytes_,
            completed_at=completed_at,
            spec=spec,
        )

        rollout_set.additional_properties = d
        return rollout_set

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
