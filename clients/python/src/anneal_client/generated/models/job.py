from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.job_kind import JobKind
from ..models.job_phase import JobPhase
from ..models.job_status import JobStatus
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.job_failure import JobFailure
  from ..models.job_progress import JobProgress
  from ..models.job_waiting import JobWaiting
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata

T = TypeVar("T", bound="Job")

@_attrs_define
class Job:
    """ A job.

        Attributes:
            id (str):
            object_ (Literal['job']):
            kind (JobKind): What a job makes.
            status (JobStatus): Where a job stands; `succeeded`, `failed` and `cancelled` are final.
            created_at (int): Unix seconds.
            attempt (int): How often a worker has begun with the job.
            step (int): Optimizer steps taken.
            steps (int): Optimizer steps in all; 0 when nothing is trained.
            priority (int):
            memory_bytes (int): Bytes that it needs on each of its devices, by an estimate.
            devices (list[str]): The devices that its newest attempt holds or held, the leading one first; empty while it
                waits.
            device_seconds (float): Seconds of attempts times the devices that they held; of an attempt under way only whole
                seconds count.
            last_seq (int): The number of the newest event.
            spec (JsonObject): Any JSON object.
            spec_resolved (JsonObject): Any JSON object.
            spec_digest (str): `sha256:` and the digest of the resolved spec without name, priority, metadata and budget,
                with those of the
                built-ins that it names.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            name (None | str | Unset):
            phase (JobPhase | None | Unset): What a running job does: `loading`, `sampling`, `verifying`, `training`,
                `evaluating`, `checkpointing` or
                `exporting`.
            started_at (int | None | Unset): Unix seconds of the first attempt's begin.
            finished_at (int | None | Unset): Unix seconds.
            objective (None | str | Unset): The objective's type; null when nothing is trained.
            progress (JobProgress | None | Unset): How far a running job is.
            waiting (JobWaiting | None | Unset): Why a queued job waits, and for what; null in the answer to a submission.
            result (JsonObject | None | Unset): What the finished job has to show: `checkpoint`, `weights_sha256`,
                evaluations `before` and `after`, `gate` where
                the spec has one, `verify_resume` of a job that was made for it, and `report`, which lists leave out.
            failure (JobFailure | None | Unset): Why the job failed.
            rollout_set (None | str | Unset): The rollout set that the job fills, by itself or because of `rollouts.keep`.
            forked_from (None | str | Unset): The job whose spec this one was made from.
            verifies (None | str | Unset): The job that this one repeats to prove that it resumes bit for bit.
            evaluation (None | str | Unset): The evaluation that the job makes.
     """

    id: str
    object_: Literal['job']
    kind: JobKind
    status: JobStatus
    created_at: int
    attempt: int
    step: int
    steps: int
    priority: int
    memory_bytes: int
    devices: list[str]
    device_seconds: float
    last_seq: int
    spec: JsonObject
    spec_resolved: JsonObject
    spec_digest: str
    metadata: Metadata
    name: None | str | Unset = UNSET
    phase: JobPhase | None | Unset = UNSET
    started_at: int | None | Unset = UNSET
    finished_at: int | None | Unset = UNSET
    objective: None | str | Unset = UNSET
    progress: JobProgress | None | Unset = UNSET
    waiting: JobWaiting | None | Unset = UNSET
    result: JsonObject | None | Unset = UNSET
    failure: JobFailure | None | Unset = UNSET
    rollout_set: None | str | Unset = UNSET
    forked_from: None | str | Unset = UNSET
    verifies: None | str | Unset = UNSET
    evaluation: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_failure import JobFailure # noqa: PLC0415
        from ..models.job_progress import JobProgress # noqa: PLC0415
        from ..models.job_waiting import JobWaiting # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        kind = self.kind.value

        status = self.status.value

        created_at = self.created_at

        attempt = self.attempt

        step = self.step

        steps = self.steps

        priority = self.priority

        memory_bytes = self.memory_bytes

        devices = self.devices

        device_seconds = self.device_seconds

        last_seq = self.last_seq

        spec = self.spec.to_dict()

        spec_resolved = self.spec_resolved.to_dict()

        spec_digest = self.spec_digest

        metadata = self.metadata.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        phase: None | str | Unset
        if isinstance(self.phase, Unset):
            phase = UNSET
        elif isinstance(self.phase, JobPhase):
            phase = self.phase.value
        else:
            phase = self.phase

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

        objective: None | str | Unset
        if isinstance(self.objective, Unset):
            objective = UNSET
        else:
            objective = self.objective

        progress: dict[str, Any] | None | Unset
        if isinstance(self.progress, Unset):
            progress = UNSET
        elif isinstance(self.progress, JobProgress):
            progress = self.progress.to_dict()
        else:
            progress = self.progress

        waiting: dict[str, Any] | None | Unset
        if isinstance(self.waiting, Unset):
            waiting = UNSET
        elif isinstance(self.waiting, JobWaiting):
            waiting = self.waiting.to_dict()
        else:
            waiting = self.waiting

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
        elif isinstance(self.failure, JobFailure):
            failure = self.failure.to_dict()
        else:
            failure = self.failure

        rollout_set: None | str | Unset
        if isinstance(self.rollout_set, Unset):
            rollout_set = UNSET
        else:
            rollout_set = self.rollout_set

        forked_from: None | str | Unset
        if isinstance(self.forked_from, Unset):
            forked_from = UNSET
        else:
            forked_from = self.forked_from

        verifies: None | str | Unset
        if isinstance(self.verifies, Unset):
            verifies = UNSET
        else:
            verifies = self.verifies

        evaluation: None | str | Unset
        if isinstance(self.evaluation, Unset):
            evaluation = UNSET
        else:
            evaluation = self.evaluation

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "kind": kind,
            "status": status,
            "created_at": created_at,
            "attempt": attempt,
            "step": step,
            "steps": steps,
            "priority": priority,
            "memory_bytes": memory_bytes,
            "devices": devices,
            "device_seconds": device_seconds,
            "last_seq": last_seq,
            "spec": spec,
            "spec_resolved": spec_resolved,
            "spec_digest": spec_digest,
            "metadata": metadata,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if phase is not UNSET:
            field_dict["phase"] = phase
        if started_at is not UNSET:
            field_dict["started_at"] = started_at
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at
        if objective is not UNSET:
            field_dict["objective"] = objective
        if progress is not UNSET:
            field_dict["progress"] = progress
        if waiting is not UNSET:
            field_dict["waiting"] = waiting
        if result is not UNSET:
            field_dict["result"] = result
        if failure is not UNSET:
            field_dict["failure"] = failure
        if rollout_set is not UNSET:
            field_dict["rollout_set"] = rollout_set
        if forked_from is not UNSET:
            field_dict["forked_from"] = forked_from
        if verifies is not UNSET:
            field_dict["verifies"] = verifies
        if evaluation is not UNSET:
            field_dict["evaluation"] = evaluation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_failure import JobFailure # noqa: PLC0415
        from ..models.job_progress import JobProgress # noqa: PLC0415
        from ..models.job_waiting import JobWaiting # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['job'] , d.pop("object"))
        if object_ != 'job':
            raise ValueError(f"object must match const 'job', got '{object_}'")

        kind = JobKind(d.pop("kind"))

        status = JobStatus(d.pop("status"))

        created_at = d.pop("created_at")

        attempt = d.pop("attempt")

        step = d.pop("step")

        steps = d.pop("steps")

        priority = d.pop("priority")

        memory_bytes = d.pop("memory_bytes")

        devices = cast(list[str], d.pop("devices"))

        device_seconds = d.pop("device_seconds")

        last_seq = d.pop("last_seq")

        spec = JsonObject.from_dict(d.pop("spec"))

        spec_resolved = JsonObject.from_dict(d.pop("spec_resolved"))

        spec_digest = d.pop("spec_digest")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_phase(data: object) -> JobPhase | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                phase_type_0 = JobPhase(data)

                return phase_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JobPhase | None | Unset, data)

        phase = _parse_phase(d.pop("phase", UNSET))

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

        def _parse_objective(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        objective = _parse_objective(d.pop("objective", UNSET))

        def _parse_progress(data: object) -> JobProgress | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                progress_type_0 = JobProgress.from_dict(data)

                return progress_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JobProgress | None | Unset, data)

        progress = _parse_progress(d.pop("progress", UNSET))

        def _parse_waiting(data: object) -> JobWaiting | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                waiting_type_0 = JobWaiting.from_dict(data)

                return waiting_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JobWaiting | None | Unset, data)

        waiting = _parse_waiting(d.pop("waiting", UNSET))

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

        def _parse_failure(data: object) -> JobFailure | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                failure_type_0 = JobFailure.from_dict(data)

                return failure_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JobFailure | None | Unset, data)

        failure = _parse_failure(d.pop("failure", UNSET))

        def _parse_rollout_set(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        rollout_set = _parse_rollout_set(d.pop("rollout_set", UNSET))

        def _parse_forked_from(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        forked_from = _parse_forked_from(d.pop("forked_from", UNSET))

        def _parse_verifies(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        verifies = _parse_verifies(d.pop("verifies", UNSET))

        def _parse_evaluation(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        evaluation = _parse_evaluation(d.pop("evaluation", UNSET))

        job = cls(
            id=id,
            object_=object_,
            kind=kind,
            status=status,
            created_at=created_at,
            attempt=attempt,
            step=step,
            steps=steps,
            priority=priority,
            memory_bytes=memory_bytes,
            devices=devices,
            device_seconds=device_seconds,
            last_seq=last_seq,
            spec=spec,
            spec_resolved=spec_resolved,
            spec_digest=spec_digest,
            metadata=metadata,
            name=name,
            phase=phase,
            started_at=started_at,
            finished_at=finished_at,
            objective=objective,
            progress=progress,
            waiting=waiting,
            result=result,
            failure=failure,
            rollout_set=rollout_set,
            forked_from=forked_from,
            verifies=verifies,
            evaluation=evaluation,
        )

        job.additional_properties = d
        return job

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
