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
  from ..models.evaluation_result import EvaluationResult
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata

T = TypeVar("T", bound="Evaluation")

@_attrs_define
class Evaluation:
    """ An evaluation.

        Attributes:
            id (str):
            object_ (Literal['evaluation']):
            status (str): That of its job; `succeeded` when `result` is there.
            job (str): The job that makes it: follow, cancel and prioritise it there.
            created_at (int): Unix seconds.
            spec (JsonObject): Any JSON object.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            name (None | str | Unset):
            model (None | str | Unset): The model that is measured.
            dataset (None | str | Unset): The version of the rows, or a built-in.
            result (EvaluationResult | None | Unset): What was found; null until the evaluation is complete.
            failure (JsonObject | None | Unset): Why the job failed.
            finished_at (int | None | Unset): Unix seconds.
     """

    id: str
    object_: Literal['evaluation']
    status: str
    job: str
    created_at: int
    spec: JsonObject
    metadata: Metadata
    name: None | str | Unset = UNSET
    model: None | str | Unset = UNSET
    dataset: None | str | Unset = UNSET
    result: EvaluationResult | None | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    finished_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.evaluation_result import EvaluationResult # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        status = self.status

        job = self.job

        created_at = self.created_at

        spec = self.spec.to_dict()

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

        dataset: None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        else:
            dataset = self.dataset

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

        finished_at: int | None | Unset
        if isinstance(self.finished_at, Unset):
            finished_at = UNSET
        else:
            finished_at = self.finished_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "status": status,
            "job": job,
            "created_at": created_at,
            "spec": spec,
            "metadata": metadata,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if model is not UNSET:
            field_dict["model"] = model
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if result is not UNSET:
            field_dict["result"] = result
        if failure is not UNSET:
            field_dict["failure"] = failure
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.evaluation_result import EvaluationResult # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['evaluation'] , d.pop("object"))
        if object_ != 'evaluation':
            raise ValueError(f"object must match const 'evaluation', got '{object_}'")

        status = d.pop("status")

        job = d.pop("job")

        created_at = d.pop("created_at")

        spec = JsonObject.from_dict(d.pop("spec"))

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

        def _parse_dataset(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

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

        def _parse_finished_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        finished_at = _parse_finished_at(d.pop("finished_at", UNSET))

        evaluation = cls(
            id=id,
            object_=object_,
            status=status,
            job=job,
            created_at=created_at,
            spec=spec,
            metadata=metadata,
            name=name,
            model=model,
            dataset=dataset,
            result=result,
            failure=failure,
            finished_at=finished_at,
        )

        evaluation.additional_properties = d
        return evaluation

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
