from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.auto import Auto
from ..models.precision import Precision
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="TrainSpec")

@_attrs_define
class TrainSpec:
    """ How much is trained.

        Attributes:
            steps (int | Unset): Optimizer steps in all. Default: 100.
            prompts_per_step (int | Unset): Prompts (for `sft`: rows) in one optimizer step. Default: 16.
            updates_per_rollout (int | Unset): How often each sampled completion is trained on; for `bolt` the epochs over a
                round's completions. Default: 1.
            max_staleness (int | None | Unset): Optimizer steps that the policy may be ahead of the one that sampled a
                completion. A sampling phase serves up
                to `(max_staleness + 1) / (max_lag + 1)` steps; by default as few as `updates_per_rollout` allows, and with
                `rounds` as many as
                a round has.
            max_lag (int | Unset): Sampling phases by which the policy that is trained is ahead of the one that samples for
                it, where completions are
                sampled as they are needed: each phase is sampled so many phases before it is trained on, and the first ones
                by the model itself. With 0 each phase is sampled by the policy that is trained on it.
            track_reference (bool | Unset): Compute `kl/reference`, the distance from the model the job started from, even
                when the objective does not
                need it: one more forward pass over each sampled completion, and a second copy of the weights unless an adapter
                is
                trained beside them. Turn it off to save both. Default: True.
            micro_batch_tokens (Auto | int | Unset): A number of tokens, or `"auto"`.
            precision (Precision | Unset): What the factors of matrix products are rounded to.

                - `bf16`: bf16 with sums in f32; about twice as fast on processors with AVX512-BF16.
            recompute (Auto | bool | Unset): Yes, no, or `"auto"`, which is decided when the job is submitted.
            router_aux_loss_coef (float | Unset): Weight of the load-balancing loss of a mixture of experts, which keeps the
                router from sending all tokens to
                few of them: of its mean over tokens and layers, taken within each sequence. 0 leaves it out; 0.001 is common.
     """

    steps: int | Unset = 100
    prompts_per_step: int | Unset = 16
    updates_per_rollout: int | Unset = 1
    max_staleness: int | None | Unset = UNSET
    max_lag: int | Unset = UNSET
    track_reference: bool | Unset = True
    micro_batch_tokens: Auto | int | Unset = UNSET
    precision: Precision | Unset = UNSET
    recompute: Auto | bool | Unset = UNSET
    router_aux_loss_coef: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        steps = self.steps

        prompts_per_step = self.prompts_per_step

        updates_per_rollout = self.updates_per_rollout

        max_staleness: int | None | Unset
        if isinstance(self.max_staleness, Unset):
            max_staleness = UNSET
        else:
            max_staleness = self.max_staleness

        max_lag = self.max_lag

        track_reference = self.track_reference

        micro_batch_tokens: int | str | Unset
        if isinstance(self.micro_batch_tokens, Unset):
            micro_batch_tokens = UNSET
        elif isinstance(self.micro_batch_tokens, Auto):
            micro_batch_tokens = self.micro_batch_tokens.value
        else:
            micro_batch_tokens = self.micro_batch_tokens

        precision: str | Unset = UNSET
        if not isinstance(self.precision, Unset):
            precision = self.precision.value

        recompute: bool | str | Unset
        if isinstance(self.recompute, Unset):
            recompute = UNSET
        elif isinstance(self.recompute, Auto):
            recompute = self.recompute.value
        else:
            recompute = self.recompute

        router_aux_loss_coef = self.router_aux_loss_coef

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if steps is not UNSET:
            field_dict["steps"] = steps
        if prompts_per_step is not UNSET:
            field_dict["prompts_per_step"] = prompts_per_step
        if updates_per_rollout is not UNSET:
            field_dict["updates_per_rollout"] = updates_per_rollout
        if max_staleness is not UNSET:
            field_dict["max_staleness"] = max_staleness
        if max_lag is not UNSET:
            field_dict["max_lag"] = max_lag
        if track_reference is not UNSET:
            field_dict["track_reference"] = track_reference
        if micro_batch_tokens is not UNSET:
            field_dict["micro_batch_tokens"] = micro_batch_tokens
        if precision is not UNSET:
            field_dict["precision"] = precision
        if recompute is not UNSET:
            field_dict["recompute"] = recompute
        if router_aux_loss_coef is not UNSET:
            field_dict["router_aux_loss_coef"] = router_aux_loss_coef

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        steps = d.pop("steps", UNSET)

        prompts_per_step = d.pop("prompts_per_step", UNSET)

        updates_per_rollout = d.pop("updates_per_rollout", UNSET)

        def _parse_max_staleness(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_staleness = _parse_max_staleness(d.pop("max_staleness", UNSET))

        max_lag = d.pop("max_lag", UNSET)

        track_reference = d.pop("track_reference", UNSET)

        def _parse_micro_batch_tokens(data: object) -> Auto | int | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                componentsschemas_micro_batch_tokens_type_0 = Auto(data)

                return componentsschemas_micro_batch_tokens_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Auto | int | Unset, data)

        micro_batch_tokens = _parse_micro_batch_tokens(d.pop("micro_batch_tokens", UNSET))

        _precision = d.pop("precision", UNSET)
        precision: Precision | Unset
        if isinstance(_precision,  Unset):
            precision = UNSET
        else:
            precision = Precision(_precision)

        def _parse_recompute(data: object) -> Auto | bool | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                componentsschemas_recompute_type_0 = Auto(data)

                return componentsschemas_recompute_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Auto | bool | Unset, data)

        recompute = _parse_recompute(d.pop("recompute", UNSET))

        router_aux_loss_coef = d.pop("router_aux_loss_coef", UNSET)

        train_spec = cls(
            steps=steps,
            prompts_per_step=prompts_per_step,
            updates_per_rollout=updates_per_rollout,
            max_staleness=max_staleness,
            max_lag=max_lag,
            track_reference=track_reference,
            micro_batch_tokens=micro_batch_tokens,
            precision=precision,
            recompute=recompute,
            router_aux_loss_coef=router_aux_loss_coef,
        )

        return train_spec
