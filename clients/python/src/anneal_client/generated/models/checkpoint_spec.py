from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.weight_dtype import WeightDtype
from ..types import UNSET, Unset

T = TypeVar("T", bound="CheckpointSpec")

@_attrs_define
class CheckpointSpec:
    """ What is kept on the way and how the result is written.

        Attributes:
            every_steps (int | Unset): Save the training state every so many optimizer steps, so that a lost worker costs no
                more than these. Default: 50.
            keep_last (int | Unset): Training checkpoints to keep. Default: 2.
            keep_best (int | Unset): Training checkpoints to keep besides these: the ones with the best evaluations at their
                steps.
            dtype (WeightDtype | Unset): Number format of exported weights.
     """

    every_steps: int | Unset = 50
    keep_last: int | Unset = 2
    keep_best: int | Unset = UNSET
    dtype: WeightDtype | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        every_steps = self.every_steps

        keep_last = self.keep_last

        keep_best = self.keep_best

        dtype: str | Unset = UNSET
        if not isinstance(self.dtype, Unset):
            dtype = self.dtype.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if keep_last is not UNSET:
            field_dict["keep_last"] = keep_last
        if keep_best is not UNSET:
            field_dict["keep_best"] = keep_best
        if dtype is not UNSET:
            field_dict["dtype"] = dtype

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        every_steps = d.pop("every_steps", UNSET)

        keep_last = d.pop("keep_last", UNSET)

        keep_best = d.pop("keep_best", UNSET)

        _dtype = d.pop("dtype", UNSET)
        dtype: WeightDtype | Unset
        if isinstance(_dtype,  Unset):
            dtype = UNSET
        else:
            dtype = WeightDtype(_dtype)

        checkpoint_spec = cls(
            every_steps=every_steps,
            keep_last=keep_last,
            keep_best=keep_best,
            dtype=dtype,
        )

        return checkpoint_spec
