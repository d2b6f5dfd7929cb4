from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.grader_errors import GraderErrors
  from ..models.grader_metadata_scores import GraderMetadataScores

T = TypeVar("T", bound="GraderMetadata")

@_attrs_define
class GraderMetadata:
    """
        Attributes:
            name (str):
            type_ (str):
            errors (GraderErrors): Which kinds of failure there were.
            execution_time (float): Seconds.
            scores (GraderMetadataScores): The rewards of a multi grader's members, or the grader's own under its name.
            token_usage (int | None | Unset):
            sampled_model_name (None | str | Unset):
            detail (None | str | Unset): One sentence when there is no ordinary verdict.
     """

    name: str
    type_: str
    errors: GraderErrors
    execution_time: float
    scores: GraderMetadataScores
    token_usage: int | None | Unset = UNSET
    sampled_model_name: None | str | Unset = UNSET
    detail: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.grader_errors import GraderErrors # noqa: PLC0415
        from ..models.grader_metadata_scores import GraderMetadataScores # noqa: PLC0415
        name = self.name

        type_ = self.type_

        errors = self.errors.to_dict()

        execution_time = self.execution_time

        scores = self.scores.to_dict()

        token_usage: int | None | Unset
        if isinstance(self.token_usage, Unset):
            token_usage = UNSET
        else:
            token_usage = self.token_usage

        sampled_model_name: None | str | Unset
        if isinstance(self.sampled_model_name, Unset):
            sampled_model_name = UNSET
        else:
            sampled_model_name = self.sampled_model_name

        detail: None | str | Unset
        if isinstance(self.detail, Unset):
            detail = UNSET
        else:
            detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "type": type_,
            "errors": errors,
            "execution_time": execution_time,
            "scores": scores,
        })
        if token_usage is not UNSET:
            field_dict["token_usage"] = token_usage
        if sampled_model_name is not UNSET:
            field_dict["sampled_model_name"] = sampled_model_name
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.grader_errors import GraderErrors # noqa: PLC0415
        from ..models.grader_metadata_scores import GraderMetadataScores # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        type_ = d.pop("type")

        errors = GraderErrors.from_dict(d.pop("errors"))

        execution_time = d.pop("execution_time")

        scores = GraderMetadataScores.from_dict(d.pop("scores"))

        def _parse_token_usage(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        token_usage = _parse_token_usage(d.pop("token_usage", UNSET))

        def _parse_sampled_model_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        sampled_model_name = _parse_sampled_model_name(d.pop("sampled_model_name", UNSET))

        def _parse_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        detail = _parse_detail(d.pop("detail", UNSET))

        grader_metadata = cls(
            name=name,
            type_=type_,
            errors=errors,
            execution_time=execution_time,
            scores=scores,
            token_usage=token_usage,
            sampled_model_name=sampled_model_name,
            detail=detail,
        )

        grader_metadata.additional_properties = d
        return grader_metadata

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
