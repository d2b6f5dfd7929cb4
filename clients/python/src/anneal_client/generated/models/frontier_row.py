from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="FrontierRow")

@_attrs_define
class FrontierRow:
    """ One temperature of the target `pi* ~ pi_ref exp(r/beta)`; means over the groups.

        Attributes:
            beta (float):
            ess_share (float): Effective sample size of the weights as a share of the group, `(sum w)^2 / (G sum w^2)`.
            ess_share_informative (float): The same over the groups whose rewards differ; the others have 1 at every
                temperature.
            second_moment (float): Mean square of the weights (of mean 1), the inverse of the ESS share in every group: what
                weighting costs in
                variance.
            target_success (float): Expected reward under the weighted completions, `sum w r / G`.
            log_partition (float): Logarithm of the estimate of `Z = E exp(r/beta)`.
            support_price (float): `beta log(1/pi*(S|x))`, in units of reward: what no policy supported on the stored
                completions can regain. It
                grows with the length of the completions; read it beside the coverage of answers.
     """

    beta: float
    ess_share: float
    ess_share_informative: float
    second_moment: float
    target_success: float
    log_partition: float
    support_price: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        beta = self.beta

        ess_share = self.ess_share

        ess_share_informative = self.ess_share_informative

        second_moment = self.second_moment

        target_success = self.target_success

        log_partition = self.log_partition

        support_price = self.support_price

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "beta": beta,
            "ess_share": ess_share,
            "ess_share_informative": ess_share_informative,
            "second_moment": second_moment,
            "target_success": target_success,
            "log_partition": log_partition,
            "support_price": support_price,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        beta = d.pop("beta")

        ess_share = d.pop("ess_share")

        ess_share_informative = d.pop("ess_share_informative")

        second_moment = d.pop("second_moment")

        target_success = d.pop("target_success")

        log_partition = d.pop("log_partition")

        support_price = d.pop("support_price")

        frontier_row = cls(
            beta=beta,
            ess_share=ess_share,
            ess_share_informative=ess_share_informative,
            second_moment=second_moment,
            target_success=target_success,
            log_partition=log_partition,
            support_price=support_price,
        )

        frontier_row.additional_properties = d
        return frontier_row

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
