from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.checkpoint_event import CheckpointEvent
  from ..models.evaluation_event import EvaluationEvent
  from ..models.log_event import LogEvent
  from ..models.metrics_event import MetricsEvent
  from ..models.phase_event import PhaseEvent
  from ..models.progress_event import ProgressEvent
  from ..models.rollout_set_event import RolloutSetEvent
  from ..models.status_event import StatusEvent
  from ..models.webhook_job import WebhookJob

T = TypeVar("T", bound="WebhookMessageData")

@_attrs_define
class WebhookMessageData:
    """ What a message tells: the event and its job, or in a test the endpoint.

        Attributes:
            event (CheckpointEvent | EvaluationEvent | LogEvent | MetricsEvent | None | PhaseEvent | ProgressEvent |
                RolloutSetEvent | StatusEvent | Unset):
            job (None | Unset | WebhookJob):
            webhook_endpoint (None | str | Unset): The endpoint that is tested; only in `webhook.test`.
     """

    event: CheckpointEvent | EvaluationEvent | LogEvent | MetricsEvent | None | PhaseEvent | ProgressEvent | RolloutSetEvent | StatusEvent | Unset = UNSET
    job: None | Unset | WebhookJob = UNSET
    webhook_endpoint: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_event import CheckpointEvent # noqa: PLC0415
        from ..models.evaluation_event import EvaluationEvent # noqa: PLC0415
        from ..models.log_event import LogEvent # noqa: PLC0415
        from ..models.metrics_event import MetricsEvent # noqa: PLC0415
        from ..models.phase_event import PhaseEvent # noqa: PLC0415
        from ..models.progress_event import ProgressEvent # noqa: PLC0415
        from ..models.rollout_set_event import RolloutSetEvent # noqa: PLC0415
        from ..models.status_event import StatusEvent # noqa: PLC0415
        from ..models.webhook_job import WebhookJob # noqa: PLC0415
        event: dict[str, Any] | None | Unset
        if isinstance(self.event, Unset):
            event = UNSET
        elif isinstance(self.event, StatusEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, PhaseEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, ProgressEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, MetricsEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, EvaluationEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, CheckpointEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, RolloutSetEvent):
            event = self.event.to_dict()
        elif isinstance(self.event, LogEvent):
            event = self.event.to_dict()
        else:
            event = self.event

        job: dict[str, Any] | None | Unset
        if isinstance(self.job, Unset):
            job = UNSET
        elif isinstance(self.job, WebhookJob):
            job = self.job.to_dict()
        else:
            job = self.job

        webhook_endpoint: None | str | Unset
        if isinstance(self.webhook_endpoint, Unset):
            webhook_endpoint = UNSET
        else:
            webhook_endpoint = self.webhook_endpoint

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
        })
        if event is not UNSET:
            field_dict["event"] = event
        if job is not UNSET:
            field_dict["job"] = job
        if webhook_endpoint is not UNSET:
            field_dict["webhook_endpoint"] = webhook_endpoint

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_event import CheckpointEvent # noqa: PLC0415
        from ..models.evaluation_event import EvaluationEvent # noqa: PLC0415
        from ..models.log_event import LogEvent # noqa: PLC0415
        from ..models.metrics_event import MetricsEvent # noqa: PLC0415
        from ..models.phase_event import PhaseEvent # noqa: PLC0415
        from ..models.progress_event import ProgressEvent # noqa: PLC0415
        from ..models.rollout_set_event import RolloutSetEvent # noqa: PLC0415
        from ..models.status_event import StatusEvent # noqa: PLC0415
        from ..models.webhook_job import WebhookJob # noqa: PLC0415
        d = dict(src_dict)
        def _parse_event(data: object) -> CheckpointEvent | EvaluationEvent | LogEvent | MetricsEvent | None | PhaseEvent | ProgressEvent | RolloutSetEvent | StatusEvent | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_0 = StatusEvent.from_dict(data)

                return componentsschemas_job_event_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_1 = PhaseEvent.from_dict(data)

                return componentsschemas_job_event_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_2 = ProgressEvent.from_dict(data)

                return componentsschemas_job_event_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_3 = MetricsEvent.from_dict(data)

                return componentsschemas_job_event_type_3
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_4 = EvaluationEvent.from_dict(data)

                return componentsschemas_job_event_type_4
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_5 = CheckpointEvent.from_dict(data)

                return componentsschemas_job_event_type_5
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_6 = RolloutSetEvent.from_dict(data)

                return componentsschemas_job_event_type_6
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_job_event_type_7 = LogEvent.from_dict(data)

                return componentsschemas_job_event_type_7
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CheckpointEvent | EvaluationEvent | LogEvent | MetricsEvent | None | PhaseEvent | ProgressEvent | RolloutSetEvent | StatusEvent | Unset, data)

        event = _parse_event(d.pop("event", UNSET))

        def _parse_job(data: object) -> None | Unset | WebhookJob:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                job_type_0 = WebhookJob.from_dict(data)

                return job_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | WebhookJob, data)

        job = _parse_job(d.pop("job", UNSET))

        def _parse_webhook_endpoint(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        webhook_endpoint = _parse_webhook_endpoint(d.pop("webhook_endpoint", UNSET))

        webhook_message_data = cls(
            event=event,
            job=job,
            webhook_endpoint=webhook_endpoint,
        )

        webhook_message_data.additional_properties = d
        return webhook_message_data

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
