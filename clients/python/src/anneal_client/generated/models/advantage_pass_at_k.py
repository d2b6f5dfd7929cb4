from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_pass_at_k_settings import AdvantagePassAtKSettings

T = TypeVar("T", bound="AdvantagePassAtK")

@_attrs_define
class AdvantagePassAtK:
    """ The gradient of pass@k, or of the largest of k rewards where they are graded, without bias: each completion is
    compared with subsets of the others (combinatorial leave-one-out, arXiv 2505.15201). `k` is at most the group's
    size; above it, it is taken for that.

        Attributes:
            pass_at_k (AdvantagePassAtKSettings):
     """

    pass_at_k: AdvantagePassAtKSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_pass_at_k_settings import AdvantagePassAtKSettings # noqa: PLC0415
        pass_at_k = self.pass_at_k.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "pass_at_k": pass_at_k,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_pass_at_k_settings import AdvantagePassAtKSettings # noqa: PLC0415
        d = dict(src_dict)
        pass_at_k = AdvantagePassAtKSettings.from_dict(d.pop("pass_at_k"))

        advantage_pass_at_k = cls(
            pass_at_k=pass_at_k,
        )

        return advantage_pass_at_k
