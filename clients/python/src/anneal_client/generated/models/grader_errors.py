from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="GraderErrors")

@_attrs_define
class GraderErrors:
    """ Which kinds of failure there were.

        Attributes:
            formula_parse_error (bool):
            sample_parse_error (bool):
            truncated_observation_error (bool):
            unresponsive_reward_error (bool):
            invalid_variable_error (bool):
            other_error (bool):
            python_grader_server_error (bool):
            python_grader_runtime_error (bool):
            model_grader_server_error (bool):
            model_grader_refusal_error (bool):
            model_grader_parse_error (bool):
            python_grader_server_error_type (None | str | Unset):
            python_grader_runtime_error_details (None | str | Unset):
            model_grader_server_error_details (None | str | Unset):
     """

    formula_parse_error: bool
    sample_parse_error: bool
    truncated_observation_error: bool
    unresponsive_reward_error: bool
    invalid_variable_error: bool
    other_error: bool
    python_grader_server_error: bool
    python_grader_runtime_error: bool
    model_grader_server_error: bool
    model_grader_refusal_error: bool
    model_grader_parse_error: bool
    python_grader_server_error_type: None | str | Unset = UNSET
    python_grader_runtime_error_details: None | str | Unset = UNSET
    model_grader_server_error_details: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        formula_parse_error = self.formula_parse_error

        sample_parse_error = self.sample_parse_error

        truncated_observation_error = self.truncated_observation_error

        unresponsive_reward_error = self.unresponsive_reward_error

        invalid_variable_error = self.invalid_variable_error

        other_error = self.other_error

        python_grader_server_error = self.python_grader_server_error

        python_grader_runtime_error = self.python_grader_runtime_error

        model_grader_server_error = self.model_grader_server_error

        model_grader_refusal_error = self.model_grader_refusal_error

        model_grader_parse_error = self.model_grader_parse_error

        python_grader_server_error_type: None | str | Unset
        if isinstance(self.python_grader_server_error_type, Unset):
            python_grader_server_error_type = UNSET
        else:
            python_grader_server_error_type = self.python_grader_server_error_type

        python_grader_runtime_error_details: None | str | Unset
        if isinstance(self.python_grader_runtime_error_details, Unset):
            python_grader_runtime_error_details = UNSET
        else:
            python_grader_runtime_error_details = self.python_grader_runtime_error_details

        model_grader_server_error_details: None | str | Unset
        if isinstance(self.model_grader_server_error_details, Unset):
            model_grader_server_error_details = UNSET
        else:
            model_grader_server_error_details = self.model_grader_server_error_details

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "formula_parse_error": formula_parse_error,
            "sample_parse_error": sample_parse_error,
            "truncated_observation_error": truncated_observation_error,
            "unresponsive_reward_error": unresponsive_reward_error,
            "invalid_variable_error": invalid_variable_error,
            "other_error": other_error,
            "python_grader_server_error": python_grader_server_error,
            "python_grader_runtime_error": python_grader_runtime_error,
            "model_grader_server_error": model_grader_server_error,
            "model_grader_refusal_error": model_grader_refusal_error,
            "model_grader_parse_error": model_grader_parse_error,
        })
        if python_grader_server_error_type is not UNSET:
            field_dict["python_grader_server_error_type"] = python_grader_server_error_type
        if python_grader_runtime_error_details is not UNSET:
            field_dict["python_grader_runtime_error_details"] = python_grader_runtime_error_details
        if model_grader_server_error_details is not UNSET:
            field_dict["model_grader_server_error_details"] = model_grader_server_error_details

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        formula_parse_error = d.pop("formula_parse_error")

        sample_parse_error = d.pop("sample_parse_error")

        truncated_observation_error = d.pop("truncated_observation_error")

        unresponsive_reward_error = d.pop("unresponsive_reward_error")

        invalid_variable_error = d.pop("invalid_variable_error")

        other_error = d.pop("other_error")

        python_grader_server_error = d.pop("python_grader_server_error")

        python_grader_runtime_error = d.pop("python_grader_runtime_error")

        model_grader_server_error = d.pop("model_grader_server_error")

        model_grader_refusal_error = d.pop("model_grader_refusal_error")

        model_grader_parse_error = d.pop("model_grader_parse_error")

        def _parse_python_grader_server_error_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        python_grader_server_error_type = _parse_python_grader_server_error_type(d.pop("python_grader_server_error_type", UNSET))

        def _parse_python_grader_runtime_error_details(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        python_grader_runtime_error_details = _parse_python_grader_runtime_error_details(d.pop("python_grader_runtime_error_details", UNSET))

        def _parse_model_grader_server_error_details(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        model_grader_server_error_details = _parse_model_grader_server_error_details(d.pop("model_grader_server_error_details", UNSET))

        grader_errors = cls(
            formula_parse_error=formula_parse_error,
            sample_parse_error=sample_parse_error,
            truncated_observation_error=truncated_observation_error,
            unresponsive_reward_error=unresponsive_reward_error,
            invalid_variable_error=invalid_variable_error,
            other_error=other_error,
            python_grader_server_error=python_grader_server_error,
            python_grader_runtime_error=python_grader_runtime_error,
            model_grader_server_error=model_grader_server_error,
            model_grader_refusal_error=model_grader_refusal_error,
            model_grader_parse_error=model_grader_parse_error,
            python_grader_server_error_type=python_grader_server_error_type,
            python_grader_runtime_error_details=python_grader_runtime_error_details,
            model_grader_server_error_details=model_grader_server_error_details,
        )

        grader_errors.additional_properties = d
        return grader_errors

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
