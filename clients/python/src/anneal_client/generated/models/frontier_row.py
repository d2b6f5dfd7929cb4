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
            ess_completions (float): In completions, over the groups whose rewards differ: between 1 and the group's size.
            second_moment (float): Mean square of the weights (of mean 1), the inverse of the ESS share in every group: what
                weighting costs in
                variance.
            target_success (float): Expected reward under the weighted completions, `sum w r / G`.
            target_success_informative (float): The same over the groups whose rewards differ.
            log_partition (float): Logarithm of the estimate of `Z = E exp(r/beta)` from the same completions, by which the
                weights are normalised.
            log_partition_low (float): The least and the most that `log Z` can be.
            log_partition_high (float):
            partition_error_low (float): The partition error: the least and the most that `|log_partition - log Z|` can be
                in a group, in nats.
            partition_error_high (float):
            support_price_low (float): The least and the most that `beta log(1/pi*(S|x))` can be, in units of reward: what
                no policy supported on the stored
                completions can regain. It grows with the length of the completions; read it beside the coverage of answers.
            support_price_high (float):
            support_price_good_turing (float): The same with what the rest weighs estimated by the completions that were
                drawn once (Good-Turing).
     """

    beta: float
    ess_share: float
    ess_share_informative: float
    ess_completions: float
    second_moment: float
    target_success: float
    target_success_informative: float
    log_partition: float
    log_partition_low: float
    log_partition_high: float
    partition_error_low: float
    partition_error_high: float
    support_price_low: float
    support_price_high: float
    support_price_good_turing: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        beta = self.beta

        ess_share = self.ess_share

        ess_share_informative = self.ess_share_informative

        ess_completions = self.ess_completions

        second_moment = self.second_moment

        target_success = self.target_success

        target_success_informative = self.target_success_informative

        log_partition = self.log_partition

        log_partition_low = self.log_partition_low

        log_partition_high = self.log_partition_high

        partition_error_low = self.partition_error_low

        partition_error_high = self.partition_error_high

        support_price_low = self.support_price_low

        support_price_high = self.support_price_high

        support_price_good_turing = self.support_price_good_turing

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "beta": beta,
            "ess_share": ess_share,
            "ess_share_informative": ess_share_informative,
            "ess_completions": ess_completions,
            "second_moment": second_moment,
            "target_success": target_success,
            "target_success_informative": target_success_informative,
            "log_partition": log_partition,
            "log_partition_low": log_partition_low,
            "log_partition_high": log_partition_high,
            "partition_error_low": partition_error_low,
            "partition_error_high": partition_error_high,
            "support_price_low": support_price_low,
            "support_price_high": support_price_high,
            "support_price_good_turing": support_price_good_turing,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        beta = d.pop("beta")

        ess_share = d.pop("ess_share")

        ess_share_informative = d.pop("ess_share_informative")

        ess_completions = d.pop("ess_completions")

        second_moment = d.pop("second_moment")

        target_success = d.pop("target_success")

        target_success_informative = d.pop("target_success_informative")

        log_partition = d.pop("log_partition")

        log_partition_low = d.pop("log_partition_low")

        log_partition_high = d.pop("log_partition_high")

        partition_error_low = d.pop("partition_error_low")

        partition_error_high = d.pop("partition_error_high")

        support_price_low = d.pop("support_price_low")

        support_price_high = d.pop("support_price_high")

        support_price_good_turing = d.pop("support_price_good_turing")

        frontier_row = cls(
            beta=beta,
            ess_share=ess_share,
            ess_share_informative=ess_share_informative,
            ess_completions=ess_completions,
            second_moment=second_moment,
            target_success=target_success,
            target_success_informative=target_success_informative,
            log_partition=log_partition,
            log_partition_low=log_partition_low,
            log_partition_high=log_partition_high,
            partition_error_low=partition_error_low,
            partition_error_high=partition_error_high,
            support_price_low=support_price_low,
            support_price_high=support_price_high,
            support_price_good_turing=support_price_good_turing,
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
