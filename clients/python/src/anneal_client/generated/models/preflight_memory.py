from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="PreflightMemory")

@_attrs_define
class PreflightMemory:
    """ The parts of a job's memory, in bytes.

        Attributes:
            model (int): 20 for each parameter of the model: the weight, the same as matrix products read it, gradient and
                two moments
                of AdamW, which take less with `optimizer.state`. With an adapter that for its parameters, and 4 for each of the
                frozen model, 2 in bf16, or 9/8 with `adapter.quantize`.
            copies (int): 4 for each parameter of a model kept beside it, the reference or a teacher, and 2 in bf16. With an
                adapter the
                reference takes none.
            activations (int): Of a pass with `train.micro_batch_tokens`, for `auto` with the fewest that it takes.
            cache (int): The sampler's: keys and values of `sampling.batch_size` completions of full length, at most 2 GiB.
     """

    model: int
    copies: int
    activations: int
    cache: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        copies = self.copies

        activations = self.activations

        cache = self.cache

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "model": model,
            "copies": copies,
            "activations": activations,
            "cache": cache,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        model = d.pop("model")

        copies = d.pop("copies")

        activations = d.pop("activations")

        cache = d.pop("cache")

        preflight_memory = cls(
            model=model,
            copies=copies,
            activations=activations,
            cache=cache,
        )

        preflight_memory.additional_properties = d
        return preflight_memory

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
