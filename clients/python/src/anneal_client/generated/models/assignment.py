from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.chat_content_part import ChatContentPart
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="Assignment")

@_attrs_define
class Assignment:
    """ A job and the right to run it.

        Attributes:
            job (str):
            attempt (int): With the job the right to run it, until another attempt begins.
            kind (str): `train`, `sample`, `regrade` or `evaluation`.
            spec (JsonObject): Any JSON object.
            spec_digest (str): `sha256:` and the digest of what decides the result.
            devices (list[str]): The devices that the job has; the first is the worker's.
            resume (list[str]): The folders of training checkpoints to go on from, the newest first.
            materials (JsonObject): Any JSON object.
            verification (JsonObject | None | Unset): What the job is to prove, if it is to prove something.
            part (ChatContentPart | None | Unset): Of a worker that takes part in a job of another, to which alone it talks:
                it claims nothing, and reports nothing.
            trace (None | str | Unset): The `traceparent` (W3C Trace Context) of the request that submitted the job, where
                requests are traced.
     """

    job: str
    attempt: int
    kind: str
    spec: JsonObject
    spec_digest: str
    devices: list[str]
    resume: list[str]
    materials: JsonObject
    verification: JsonObject | None | Unset = UNSET
    part: ChatContentPart | None | Unset = UNSET
    trace: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.chat_content_part import ChatContentPart # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        job = self.job

        attempt = self.attempt

        kind = self.kind

        spec = self.spec.to_dict()

        spec_digest = self.spec_digest

        devices = self.devices

        resume = self.resume

        materials = self.materials.to_dict()

        verification: dict[str, Any] | None | Unset
        if isinstance(self.verification, Unset):
            verification = UNSET
        elif isinstance(self.verification, JsonObject):
            verification = self.verification.to_dict()
        else:
            verification = self.verification

        part: dict[str, Any] | None | Unset
        if isinstance(self.part, Unset):
            part = UNSET
        elif isinstance(self.part, ChatContentPart):
            part = self.part.to_dict()
        else:
            part = self.part

        trace: None | str | Unset
        if isinstance(self.trace, Unset):
            trace = UNSET
        else:
            trace = self.trace

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "job": job,
            "attempt": attempt,
            "kind": kind,
            "spec": spec,
            "spec_digest": spec_digest,
            "devices": devices,
            "resume": resume,
            "materials": materials,
        })
        if verification is not UNSET:
            field_dict["verification"] = verification
        if part is not UNSET:
            field_dict["part"] = part
        if trace is not UNSET:
            field_dict["trace"] = trace

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_content_part import ChatContentPart # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        job = d.pop("job")

        attempt = d.pop("attempt")

        kind = d.pop("kind")

        spec = JsonObject.from_dict(d.pop("spec"))

        spec_digest = d.pop("spec_digest")

        devices = cast(list[str], d.pop("devices"))

        resume = cast(list[str], d.pop("resume"))

        materials = JsonObject.from_dict(d.pop("materials"))

        def _parse_verification(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                verification_type_0 = JsonObject.from_dict(data)

                return verification_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        verification = _parse_verification(d.pop("verification", UNSET))

        def _parse_part(data: object) -> ChatContentPart | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                part_type_0 = ChatContentPart.from_dict(data)

                return part_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ChatContentPart | None | Unset, data)

        part = _parse_part(d.pop("part", UNSET))

        def _parse_trace(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        trace = _parse_trace(d.pop("trace", UNSET))

        assignment = cls(
            job=job,
            attempt=attempt,
            kind=kind,
            spec=spec,
            spec_digest=spec_digest,
            devices=devices,
            resume=resume,
            materials=materials,
            verification=verification,
            part=part,
            trace=trace,
        )

        assignment.additional_properties = d
        return assignment

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
