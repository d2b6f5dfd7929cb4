from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_log_mean_exp_settings import AdvantageLogMeanExpSettings

T = TypeVar("T", bound="AdvantageLogMeanExp")

@_attrs_define
class AdvantageLogMeanExp:
    """ `(exp(tau r) / mean exp(tau r) - 1) / tau`, the gradient of log mean exp of tau times the rewards, divided by tau:
    the
    mean advantage for small `tau`, and nearer to `maxrl` the larger it is.

        Attributes:
            log_mean_exp (AdvantageLogMeanExpSettings):
     """

    log_mean_exp: AdvantageLogMeanExpSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_log_mean_exp_settings import AdvantageLogMeanExpSettings # noqa: PLC0415
        log_mean_exp = self.log_mean_exp.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "log_mean_exp": log_mean_exp,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_log_mean_exp_settings import AdvantageLogMeanExpSettings # noqa: PLC0415
        d = dict(src_dict)
        log_mean_exp = AdvantageLogMeanExpSettings.from_dict(d.pop("log_mean_exp"))

        advantage_log_mean_exp = cls(
            log_mean_exp=log_mean_exp,
        )

        return advantage_log_mean_exp
