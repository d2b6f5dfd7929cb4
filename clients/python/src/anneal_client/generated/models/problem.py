from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.field_problem import FieldProblem
  from ..models.problem_error import ProblemError

T = TypeVar("T", bound="Problem")

@_attrs_define
class Problem:
    """ The body of an error.

        Attributes:
            type_ (str): A URI reference for the kind of problem.
            title (str):
            status (int):
            detail (str): What happened and what to do about it.
            instance (str): The path of the request.
            code (str): Stable, machine-readable reason. An open set: be ready for words that you do not know.
            request_id (str):
            errors (list[FieldProblem]): The fields at fault.
            error (ProblemError):
     """

    type_: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: list[FieldProblem]
    error: ProblemError
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.field_problem import FieldProblem # noqa: PLC0415
        from ..models.problem_error import ProblemError # noqa: PLC0415
        type_ = self.type_

        title = self.title

        status = self.status

        detail = self.detail

        instance = self.instance

        code = self.code

        request_id = self.request_id

        errors = []
        for errors_item_data in self.errors:
            errors_item = errors_item_data.to_dict()
            errors.append(errors_item)

        error = self.error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "type": type_,
            "title": title,
            "status": status,
            "detail": detail,
            "instance": instance,
            "code": code,
            "request_id": request_id,
            "errors": errors,
            "error": error,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.field_problem import FieldProblem # noqa: PLC0415
        from ..models.problem_error import ProblemError # noqa: PLC0415
        d = dict(src_dict)
        type_ = d.pop("type")

        title = d.pop("title")

        status = d.pop("status")

        detail = d.pop("detail")

        instance = d.pop("instance")

        code = d.pop("code")

        request_id = d.pop("request_id")

        errors = []
        _errors = d.pop("errors")
        for errors_item_data in (_errors):
            errors_item = FieldProblem.from_dict(errors_item_data)

            errors.append(errors_item)

        error = ProblemError.from_dict(d.pop("error"))

        problem = cls(
            type_=type_,
            title=title,
            status=status,
            detail=detail,
            instance=instance,
            code=code,
            request_id=request_id,
            errors=errors,
            error=error,
        )

        problem.additional_properties = d
        return problem

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
