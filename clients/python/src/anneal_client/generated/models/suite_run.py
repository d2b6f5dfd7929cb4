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
  from ..models.suite_run_of_set import SuiteRunOfSet

T = TypeVar("T", bound="SuiteRun")

@_attrs_define
class SuiteRun:
    """ A model on the sets of a suite.

        Attributes:
            id (str):
            object_ (Literal['suite_run']):
            suite (str):
            model (str):
            status (str): `running` until all evaluations are over, and then `succeeded`, or `failed` or `cancelled` if one
                of them is. Those that
                were deleted do not count; `deleted` when all are.
            sets (list[SuiteRunOfSet]): In the suite's order.
            created_at (int): Unix seconds.
            after_job (None | str | Unset): The job that asked for it with `eval.suite`; null of one that was made by a
                request.
            failure (JsonObject | None | Unset): Why it could not be begun, with a `code` and a `message`; null otherwise.
     """

    id: str
    object_: Literal['suite_run']
    suite: str
    model: str
    status: str
    sets: list[SuiteRunOfSet]
    created_at: int
    after_job: None | str | Unset = UNSET
    failure: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.suite_run_of_set import SuiteRunOfSet # noqa: PLC0415
        id = self.id

        object_ = self.object_

        suite = self.suite

        model = self.model

        status = self.status

        sets = []
        for sets_item_data in self.sets:
            sets_item = sets_item_data.to_dict()
            sets.append(sets_item)

        created_at = self.created_at

        after_job: None | str | Unset
        if isinstance(self.after_job, Unset):
            after_job = UNSET
        else:
            after_job = self.after_job

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
            "suite": suite,
            "model": model,
            "status": status,
            "sets": sets,
            "created_at": created_at,
        })
        if after_job is not UNSET:
            field_dict["after_job"] = after_job
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.suite_run_of_set import SuiteRunOfSet # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['suite_run'] , d.pop("object"))
        if object_ != 'suite_run':
            raise ValueError(f"object must match const 'suite_run', got '{object_}'")

        suite = d.pop("suite")

        model = d.pop("model")

        status = d.pop("status")

        sets = []
        _sets = d.pop("sets")
        for sets_item_data in (_sets):
            sets_item = SuiteRunOfSet.from_dict(sets_item_data)

            sets.append(sets_item)

        created_at = d.pop("created_at")

        def _parse_after_job(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        after_job = _parse_after_job(d.pop("after_job", UNSET))

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

        suite_run = cls(
            id=id,
            object_=object_,
            suite=suite,
            model=model,
            status=status,
            sets=sets,
            created_at=created_at,
            after_job=after_job,
            failure=failure,
        )

        suite_run.additional_properties = d
        return suite_run

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
