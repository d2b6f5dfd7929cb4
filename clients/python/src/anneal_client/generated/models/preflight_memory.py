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
            program (int): The program itself with the tables of the tokenizer, on a GPU the driver's context; and what
                allocators keep, a
                part of the rest, which is larger where completions are sampled.
            model (int): 12 for each parameter of the model: the weight, and two moments of AdamW, which take less with
                `optimizer.state`; 8
                for those that `muon` takes; 2 less with `optimizer.masters` in bf16.
                With an adapter that for its parameters, and 4 for each of the frozen model, 2 in bf16, 9/8 with
                `adapter.quantize`, or on the CPU what codes of a GGUF file take.
            base (int): Of these, weights that never change, which jobs with `resources.share_base` have in common.
            copies (int): 4 for each parameter of a model kept beside it, the reference or a teacher, 2 in bf16, or what
                codes take. With an
                adapter the reference takes none.
            training (int): 4 for the gradient of each trained parameter, and a pass with `train.micro_batch_tokens`, for
                `auto` with the
                fewest that it takes, or with the longest sequence.
            sampling (int): On the CPU 4 for each trained parameter, as products read it; keys and values of
                `sampling.batch_size` completions
                of full length, with `sampling.cache` half of that, on the CPU at most 2 GiB; and the pass that continues them.
                Not
                there at the same time as `training`.
            loading (int): What reading the model takes beyond all that, where it is more.
     """

    program: int
    model: int
    base: int
    copies: int
    training: int
    sampling: int
    loading: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        program = self.program

        model = self.model

        base = self.base

        copies = self.copies

        training = self.training

        sampling = self.sampling

        loading = self.loading

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "program": program,
            "model": model,
            "base": base,
            "copies": copies,
            "training": training,
            "sampling": sampling,
            "loading": loading,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        program = d.pop("program")

        model = d.pop("model")

        base = d.pop("base")

        copies = d.pop("copies")

        training = d.pop("training")

        sampling = d.pop("sampling")

        loading = d.pop("loading")

        preflight_memory = cls(
            program=program,
            model=model,
            base=base,
            copies=copies,
            training=training,
            sampling=sampling,
            loading=loading,
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
