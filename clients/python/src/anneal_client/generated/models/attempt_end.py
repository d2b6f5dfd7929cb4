from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.attempt_outcome import AttemptOutcome
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="AttemptEnd")

@_attrs_define
class AttemptEnd:
    """ How an attempt ended, and what it ended with.

        Attributes:
            outcome (AttemptOutcome): How an attempt ended.
            result (JsonObject | None | Unset): As the `result` of a job.
            failure (JsonObject | None | Unset): As the `failure` of a job.
            device (None | str | Unset): The device to blame for a lost attempt, if that is not the first.
            blameless (bool | Unset): Whether a lost attempt does not count against the job.
     """

    outcome: AttemptOutcome
    result: JsonObject | None | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    device: None | str | Unset = UNSET
    blameless: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        outcome = self.outcome.value

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

        device: None | str | Unset
        if isinstance(self.device, Unset):
            device = UNSET
        else:
            device = self.device

        blameless = self.blameless

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "outcome": outcome,
        })
        if result is not UNSET:
            field_dict["result"] = result
        if failure is not UNSET:
            field_dict["failure"] = failure
        if device is not UNSET:
            field_dict["device"] = device
        if blameless is not UNSET:
            field_dict["blameless"] = blameless

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        outcome = AttemptOutcome(d.pop("outcome"))

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

        def _parse_device(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        device = _parse_device(d.pop("device", UNSET))

        blameless = d.pop("blameless", UNSET)

        attempt_end = cls(
            outcome=outcome,
            result=result,
            failure=failure,
            device=device,
            blameless=blameless,
        )

        return attempt_end
