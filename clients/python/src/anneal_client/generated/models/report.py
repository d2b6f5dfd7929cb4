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
  from ..models.last_metric import LastMetric
  from ..models.metadata import Metadata
  from ..models.reported_checkpoint import ReportedCheckpoint
  from ..models.reported_fork import ReportedFork
  from ..models.reported_warning import ReportedWarning

T = TypeVar("T", bound="Report")

@_attrs_define
class Report:
    """ What is worth keeping of a job.

        Attributes:
            object_ (Literal['job.report']):
            job (str):
            kind (str):
            status (str):
            spec_digest (str): `sha256:` and the digest of the resolved spec without name, priority, metadata and budget,
                with those of the
                built-ins that it names.
            forks (list[ReportedFork]): The newest 20 forks of the job, its control runs among them, each beside it.
            created_at (int): Unix seconds.
            device_seconds (float):
            attempts (int):
            step (int):
            steps (int):
            metrics (list[LastMetric]): The newest value of every metric.
            warnings (list[ReportedWarning]): Warnings and errors of the log, the first 100.
            checkpoints (list[ReportedCheckpoint]): The newest 100.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            name (None | str | Unset):
            model (None | str | Unset): The spec's model, as it was resolved.
            train (None | str | Unset): The data set that was trained on, or sampled for.
            eval_ (None | str | Unset): The data set that was evaluated on.
            objective (None | str | Unset):
            seed (int | None | Unset):
            forked_from (None | str | Unset):
            verifies (None | str | Unset):
            started_at (int | None | Unset): Unix seconds.
            finished_at (int | None | Unset): Unix seconds.
            seconds (float | None | Unset): From the begin of the first attempt to the end, or to this moment.
            before (JsonObject | None | Unset): The evaluation before the first step: `pass_at` with means and half widths
                of 95 % intervals.
            after (JsonObject | None | Unset): The evaluation after the last step.
            gate (JsonObject | None | Unset): `passed` and the single `checks`, where the spec has a gate and the job has
                succeeded.
            required (JsonObject | None | Unset): The gate of the spec.
            verify_resume (JsonObject | None | Unset): Whether the job ended with the weights of the one that it verifies.
            weights_sha256 (None | str | Unset):
            rollout_set (None | str | Unset):
            failure (JsonObject | None | Unset):
     """

    object_: Literal['job.report']
    job: str
    kind: str
    status: str
    spec_digest: str
    forks: list[ReportedFork]
    created_at: int
    device_seconds: float
    attempts: int
    step: int
    steps: int
    metrics: list[LastMetric]
    warnings: list[ReportedWarning]
    checkpoints: list[ReportedCheckpoint]
    metadata: Metadata
    name: None | str | Unset = UNSET
    model: None | str | Unset = UNSET
    train: None | str | Unset = UNSET
    eval_: None | str | Unset = UNSET
    objective: None | str | Unset = UNSET
    seed: int | None | Unset = UNSET
    forked_from: None | str | Unset = UNSET
    verifies: None | str | Unset = UNSET
    started_at: int | None | Unset = UNSET
    finished_at: int | None | Unset = UNSET
    seconds: float | None | Unset = UNSET
    before: JsonObject | None | Unset = UNSET
    after: JsonObject | None | Unset = UNSET
    gate: JsonObject | None | Unset = UNSET
    required: JsonObject | None | Unset = UNSET
    verify_resume: JsonObject | None | Unset = UNSET
    weights_sha256: None | str | Unset = UNSET
    rollout_set: None | str | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.last_metric import LastMetric # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.reported_checkpoint import ReportedCheckpoint # noqa: PLC0415
        from ..models.reported_fork import ReportedFork # noqa: PLC0415
        from ..models.reported_warning import ReportedWarning # noqa: PLC0415
        object_ = self.object_

        job = self.job

        kind = self.kind

        status = self.status

        spec_digest = self.spec_digest

        forks = []
        for forks_item_data in self.forks:
            forks_item = forks_item_data.to_dict()
            forks.append(forks_item)

        created_at = self.created_at

        device_seconds = self.device_seconds

        attempts = self.attempts

        step = self.step

        steps = self.steps

        metrics = []
        for metrics_item_data in self.metrics:
            metrics_item = metrics_item_data.to_dict()
            metrics.append(metrics_item)

        warnings = []
        for warnings_item_data in self.warnings:
            warnings_item = warnings_item_data.to_dict()
            warnings.append(warnings_item)

        checkpoints = []
        for checkpoints_item_data in self.checkpoints:
            checkpoints_item = checkpoints_item_data.to_dict()
            checkpoints.append(checkpoints_item)

        metadata = self.metadata.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        model: None | str | Unset
        if isinstance(self.model, Unset):
            model = UNSET
        else:
            model = self.model

        train: None | str | Unset
        if isinstance(self.train, Unset):
            train = UNSET
        else:
            train = self.train

        eval_: None | str | Unset
        if isinstance(self.eval_, Unset):
            eval_ = UNSET
        else:
            eval_ = self.eval_

        objective: None | str | Unset
        if isinstance(self.objective, Unset):
            objective = UNSET
        else:
            objective = self.objective

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

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

        seconds: float | None | Unset
        if isinstance(self.seconds, Unset):
            seconds = UNSET
        else:
            seconds = self.seconds

        before: dict[str, Any] | None | Unset
        if isinstance(self.before, Unset):
            before = UNSET
        elif isinstance(self.before, JsonObject):
            before = self.before.to_dict()
        else:
            before = self.before

        after: dict[str, Any] | None | Unset
        if isinstance(self.after, Unset):
            after = UNSET
        elif isinstance(self.after, JsonObject):
            after = self.after.to_dict()
        else:
            after = self.after

        gate: dict[str, Any] | None | Unset
        if isinstance(self.gate, Unset):
            gate = UNSET
        elif isinstance(self.gate, JsonObject):
            gate = self.gate.to_dict()
        else:
            gate = self.gate

        required: dict[str, Any] | None | Unset
        if isinstance(self.required, Unset):
            required = UNSET
        elif isinstance(self.required, JsonObject):
            required = self.required.to_dict()
        else:
            required = self.required

        verify_resume: dict[str, Any] | None | Unset
        if isinstance(self.verify_resume, Unset):
            verify_resume = UNSET
        elif isinstance(self.verify_resume, JsonObject):
            verify_resume = self.verify_resume.to_dict()
        else:
            verify_resume = self.verify_resume

        weights_sha256: None | str | Unset
        if isinstance(self.weights_sha256, Unset):
            weights_sha256 = UNSET
        else:
            weights_sha256 = self.weights_sha256

        rollout_set: None | str | Unset
        if isinstance(self.rollout_set, Unset):
            rollout_set = UNSET
        else:
            rollout_set = self.rollout_set

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
            "object": object_,
            "job": job,
            "kind": kind,
            "status": status,
            "spec_digest": spec_digest,
            "forks": forks,
            "created_at": created_at,
            "device_seconds": device_seconds,
            "attempts": attempts,
            "step": step,
            "steps": steps,
            "metrics": metrics,
            "warnings": warnings,
            "checkpoints": checkpoints,
            "metadata": metadata,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if model is not UNSET:
            field_dict["model"] = model
        if train is not UNSET:
            field_dict["train"] = train
        if eval_ is not UNSET:
            field_dict["eval"] = eval_
        if objective is not UNSET:
            field_dict["objective"] = objective
        if seed is not UNSET:
            field_dict["seed"] = seed
        if forked_from is not UNSET:
            field_dict["forked_from"] = forked_from
        if verifies is not UNSET:
            field_dict["verifies"] = verifies
        if started_at is not UNSET:
            field_dict["started_at"] = started_at
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at
        if seconds is not UNSET:
            field_dict["seconds"] = seconds
        if before is not UNSET:
            field_dict["before"] = before
        if after is not UNSET:
            field_dict["after"] = after
        if gate is not UNSET:
            field_dict["gate"] = gate
        if required is not UNSET:
            field_dict["required"] = required
        if verify_resume is not UNSET:
            field_dict["verify_resume"] = verify_resume
        if weights_sha256 is not UNSET:
            field_dict["weights_sha256"] = weights_sha256
        if rollout_set is not UNSET:
            field_dict["rollout_set"] = rollout_set
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.last_metric import LastMetric # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.reported_checkpoint import ReportedCheckpoint # noqa: PLC0415
        from ..models.reported_fork import ReportedFork # noqa: PLC0415
        from ..models.reported_warning import ReportedWarning # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['job.report'] , d.pop("object"))
        if object_ != 'job.report':
            raise ValueError(f"object must match const 'job.report', got '{object_}'")

        job = d.pop("job")

        kind = d.pop("kind")

        status = d.pop("status")

        spec_digest = d.pop("spec_digest")

        forks = []
        _forks = d.pop("forks")
        for forks_item_data in (_forks):
            forks_item = ReportedFork.from_dict(forks_item_data)

            forks.append(forks_item)

        created_at = d.pop("created_at")

        device_seconds = d.pop("device_seconds")

        attempts = d.pop("attempts")

        step = d.pop("step")

        steps = d.pop("steps")

        metrics = []
        _metrics = d.pop("metrics")
        for metrics_item_data in (_metrics):
            metrics_item = LastMetric.from_dict(metrics_item_data)

            metrics.append(metrics_item)

        warnings = []
        _warnings = d.pop("warnings")
        for warnings_item_data in (_warnings):
            warnings_item = ReportedWarning.from_dict(warnings_item_data)

            warnings.append(warnings_item)

        checkpoints = []
        _checkpoints = d.pop("checkpoints")
        for checkpoints_item_data in (_checkpoints):
            checkpoints_item = ReportedCheckpoint.from_dict(checkpoints_item_data)

            checkpoints.append(checkpoints_item)

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_model(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        model = _parse_model(d.pop("model", UNSET))

        def _parse_train(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        train = _parse_train(d.pop("train", UNSET))

        def _parse_eval_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        eval_ = _parse_eval_(d.pop("eval", UNSET))

        def _parse_objective(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        objective = _parse_objective(d.pop("objective", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

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

        def _parse_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        seconds = _parse_seconds(d.pop("seconds", UNSET))

        def _parse_before(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                before_type_0 = JsonObject.from_dict(data)

                return before_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        before = _parse_before(d.pop("before", UNSET))

        def _parse_after(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                after_type_0 = JsonObject.from_dict(data)

                return after_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        after = _parse_after(d.pop("after", UNSET))

        def _parse_gate(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gate_type_0 = JsonObject.from_dict(data)

                return gate_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        gate = _parse_gate(d.pop("gate", UNSET))

        def _parse_required(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                required_type_0 = JsonObject.from_dict(data)

                return required_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        required = _parse_required(d.pop("required", UNSET))

        def _parse_verify_resume(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                verify_resume_type_0 = JsonObject.from_dict(data)

                return verify_resume_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        verify_resume = _parse_verify_resume(d.pop("verify_resume", UNSET))

        def _parse_weights_sha256(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        weights_sha256 = _parse_weights_sha256(d.pop("weights_sha256", UNSET))

        def _parse_rollout_set(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        rollout_set = _parse_rollout_set(d.pop("rollout_set", UNSET))

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

        report = cls(
            object_=object_,
            job=job,
            kind=kind,
            status=status,
            spec_digest=spec_digest,
            forks=forks,
            created_at=created_at,
            device_seconds=device_seconds,
            attempts=attempts,
            step=step,
            steps=steps,
            metrics=metrics,
            warnings=warnings,
            checkpoints=checkpoints,
            metadata=metadata,
            name=name,
            model=model,
            train=train,
            eval_=eval_,
            objective=objective,
            seed=seed,
            forked_from=forked_from,
            verifies=verifies,
            started_at=started_at,
            finished_at=finished_at,
            seconds=seconds,
            before=before,
            after=after,
            gate=gate,
            required=required,
            verify_resume=verify_resume,
            weights_sha256=weights_sha256,
            rollout_set=rollout_set,
            failure=failure,
        )

        report.additional_properties = d
        return report

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
