from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.evaluation_result import EvaluationResult
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="SuiteRunOfSet")

@_attrs_define
class SuiteRunOfSet:
    """ A model on one set.

        Attributes:
            name (str):
            evaluation (str): Read its results, compare it and break it down there.
            status (str): That of the evaluation; `deleted` where there is none any more.
            result (EvaluationResult | None | Unset): What was found; null until the evaluation is complete.
            failure (JsonObject | None | Unset): Why its job failed.
     """

    name: str
    evaluation: str
    status: str
    result: EvaluationResult | None | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.evaluation_result import EvaluationResult # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        name = self.name

        evaluation = self.evaluation

        status = self.status

        result: dict[str, Any] | None | Unset
        if isinstance(self.result, Unset):
            result = UNSET
        elif isinstance(self.result, EvaluationResult):
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
            "name": name,
            "evaluation": evaluation,
            "status": status,
        })
        if result is not UNSET:
            field_dict["result"] = result
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.evaluation_result import EvaluationResult # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        evaluation = d.pop("evaluation")

        status = d.pop("status")

        def _parse_result(data: object) -> EvaluationResult | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                result_type_0 = EvaluationResult.from_dict(data)

                return result_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EvaluationResult | None | Unset, data)

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

        suite_run_of_set = cls(
            name=name,
            evaluation=evaluation,
            status=status,
            result=result,
            failure=failure,
        )

        suite_run_of_set.additional_properties = d
        return suite_run_of_set

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
