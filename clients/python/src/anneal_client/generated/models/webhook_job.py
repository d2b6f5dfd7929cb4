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
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata

T = TypeVar("T", bound="WebhookJob")

@_attrs_define
class WebhookJob:
    """ A job as it was when the message was made; it may have moved on since the event.

        Attributes:
            id (str):
            object_ (Literal['job']):
            kind (str):
            status (str):
            step (int):
            steps (int):
            attempt (int):
            created_at (int): Unix seconds.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            name (None | str | Unset):
            objective (None | str | Unset): Null when nothing is trained.
            started_at (int | None | Unset): Unix seconds.
            finished_at (int | None | Unset): Unix seconds.
            result (JsonObject | None | Unset):
            failure (JsonObject | None | Unset):
     """

    id: str
    object_: Literal['job']
    kind: str
    status: str
    step: int
    steps: int
    attempt: int
    created_at: int
    metadata: Metadata
    name: None | str | Unset = UNSET
    objective: None | str | Unset = UNSET
    started_at: int | None | Unset = UNSET
    finished_at: int | None | Unset = UNSET
    result: JsonObject | None | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        kind = self.kind

        status = self.status

        step = self.step

        steps = self.steps

        attempt = self.attempt

        created_at = self.created_at

        metadata = self.metadata.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        objective: None | str | Unset
        if isinstance(self.objective, Unset):
            objective = UNSET
        else:
            objective = self.objective

        started_at: int | None | Unset
        if isinstance(self.started_at, Unset):
            started_at = UNSET
        else:
            started_at = self.started_at

        finished_at: int | None | Unset
        if isinstance(self.finished_at, Unset):
            finished_at = UNSET
        else:
            finished_at = self.finished_at

        result: dict[str, Any] | None | Unset
        if isinstance(self.result, Unset):
            result = UNSET
        elif isinstance(self.result, JsonObject):
            result = self.result.to_dict()
        else:
            result = self.result

        failure: dict[str, Any] | None | Unset
        if isinstance(self.failure, Unset):
            failure = UNSET
        elif isinstance(self.failure, JsonObject):
            failure = self.failure.to_dict()
        else:
            failure = self.failure

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "kind": kind,
            "status": status,
            "step": step,
            "steps": steps,
            "attempt": attempt,
            "created_at": created_at,
            "metadata": metadata,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if objective is not UNSET:
            field_dict["objective"] = objective
        if started_at is not UNSET:
            field_dict["started_at"] = started_at
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at
        if result is not UNSET:
            field_dict["result"] = result
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['job'] , d.pop("object"))
        if object_ != 'job':
            raise ValueError(f"object must match const 'job', got '{object_}'")

        kind = d.pop("kind")

        status = d.pop("status")

        step = d.pop("step")

        steps = d.pop("steps")

        attempt = d.pop("attempt")

        created_at = d.pop("created_at")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_objective(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        objective = _parse_objective(d.pop("objective", UNSET))

        def _parse_started_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        started_at = _parse_started_at(d.pop("started_at", UNSET))

        def _parse_finished_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        finished_at = _parse_finished_at(d.pop("finished_at", UNSET))

        def _parse_result(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                result_type_0 = JsonObject.from_dict(data)

                return result_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        result = _parse_result(d.pop("result", UNSET))

        def _parse_failure(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                failure_type_0 = JsonObject.from_dict(data)

                return failure_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        failure = _parse_failure(d.pop("failure", UNSET))

        webhook_job = cls(
            id=id,
            object_=object_,
            kind=kind,
            status=status,
            step=step,
            steps=steps,
            attempt=attempt,
            created_at=created_at,
            metadata=metadata,
            name=name,
            objective=objective,
            started_at=started_at,
            finished_at=finished_at,
            result=result,
            failure=failure,
        )

        webhook_job.additional_properties = d
        return webhook_job

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
