from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.leakage import Leakage
  from ..models.preflight_memory import PreflightMemory
  from ..models.preflight_rows import PreflightRows

T = TypeVar("T", bound="PreflightPlan")

@_attrs_define
class PreflightPlan:
    """ What a job will do and need.

        Attributes:
            rounds (int): Sampling phases.
            group_size (int): Completions per prompt.
            completions (int): Completions to sample for training in all; 0 when it learns from stored ones.
            parameters (int): Of the model.
            memory_bytes (int): What each of the job's devices must have: of `memory`, program, model, copies and loading,
                and the larger one
                of training and sampling.
            memory (PreflightMemory): The parts of a job's memory, in bytes.
            rows_checked (PreflightRows): How many rows of each data set were looked at.
            longest_prompt_tokens (int): Tokens of the longest of these prompts.
            leakage (Leakage | None | Unset): Held-out prompts that are also trained on; null when nothing is evaluated.
     """

    rounds: int
    group_size: int
    completions: int
    parameters: int
    memory_bytes: int
    memory: PreflightMemory
    rows_checked: PreflightRows
    longest_prompt_tokens: int
    leakage: Leakage | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.leakage import Leakage # noqa: PLC0415
        from ..models.preflight_memory import PreflightMemory # noqa: PLC0415
        from ..models.preflight_rows import PreflightRows # noqa: PLC0415
        rounds = self.rounds

        group_size = self.group_size

        completions = self.completions

        parameters = self.parameters

        memory_bytes = self.memory_bytes

        memory = self.memory.to_dict()

        rows_checked = self.rows_checked.to_dict()

        longest_prompt_tokens = self.longest_prompt_tokens

        leakage: dict[str, Any] | None | Unset
        if isinstance(self.leakage, Unset):
            leakage = UNSET
        elif isinstance(self.leakage, Leakage):
            leakage = self.leakage.to_dict()
        else:
            leakage = self.leakage

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "rounds": rounds,
            "group_size": group_size,
            "completions": completions,
            "parameters": parameters,
            "memory_bytes": memory_bytes,
            "memory": memory,
            "rows_checked": rows_checked,
            "longest_prompt_tokens": longest_prompt_tokens,
        })
        if leakage is not UNSET:
            field_dict["leakage"] = leakage

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.leakage import Leakage # noqa: PLC0415
        from ..models.preflight_memory import PreflightMemory # noqa: PLC0415
        from ..models.preflight_rows import PreflightRows # noqa: PLC0415
        d = dict(src_dict)
        rounds = d.pop("rounds")

        group_size = d.pop("group_size")

        completions = d.pop("completions")

        parameters = d.pop("parameters")

        memory_bytes = d.pop("memory_bytes")

        memory = PreflightMemory.from_dict(d.pop("memory"))

        rows_checked = PreflightRows.from_dict(d.pop("rows_checked"))

        longest_prompt_tokens = d.pop("longest_prompt_tokens")

        def _parse_leakage(data: object) -> Leakage | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                leakage_type_0 = Leakage.from_dict(data)

                return leakage_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Leakage | None | Unset, data)

        leakage = _parse_leakage(d.pop("leakage", UNSET))

        preflight_plan = cls(
            rounds=rounds,
            group_size=group_size,
            completions=completions,
            parameters=parameters,
            memory_bytes=memory_bytes,
            memory=memory,
            rows_checked=rows_checked,
            longest_prompt_tokens=longest_prompt_tokens,
            leakage=leakage,
        )

        preflight_plan.additional_properties = d
        return preflight_plan

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
