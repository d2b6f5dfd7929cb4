from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_bolt_normalization import ObjectiveBoltNormalization
from ..models.objective_bolt_reference import ObjectiveBoltReference
from ..models.objective_bolt_zero_spread import ObjectiveBoltZeroSpread
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.objective_bolt_weights_threshold import ObjectiveBoltWeightsThreshold

T = TypeVar("T", bound="ObjectiveBolt")

@_attrs_define
class ObjectiveBolt:
    """ Samples completions, weights them by exp(reward/beta) within their group and imitates them: reward maximisation as
    plain weighted SFT, with a closed-form target and no ratio or clip.

        Attributes:
            type_ (Literal['bolt']):
            beta (float | Unset): Temperature of the target: smaller follows the reward more closely and needs more
                coverage. Default: 0.25.
            final_beta (float | None | Unset): The temperature of the last round's target, where rounds differ: from `beta`
                on it changes by one factor a round.
            group_size (int | Unset): Completions per prompt. Default: 8.
            rounds (int | Unset): Sampling phases; 1 is one-shot, more refresh the completions from the current policy.
                Default: 1.
            reference (ObjectiveBoltReference | Unset): What the target tilts in later rounds.

                - `previous`: The policy that sampled the round.
                - `initial`: The model the job started from.
            normalization (ObjectiveBoltNormalization | Unset): What the summed loss is divided by.

                - `sequence`: The number of completions; the theorem's form.
                - `token`: The number of tokens.
            zero_spread (ObjectiveBoltZeroSpread | Unset): What happens to groups in which all rewards are equal.

                - `keep`: The formula: every completion keeps weight 1.
                - `skip`: Leave such groups out (a departure from the paper).
            weights (Literal['advantage'] | Literal['group'] | Literal['raw'] | Literal['step'] |
                ObjectiveBoltWeightsThreshold | Unset): What a completion is weighted by.
            held_out_prompts (int | Unset): Held-out prompts (`dataset.eval`) whose completions the policy that samples a
                round samples too, so that `gaps` say how
                far the trained one is from the target on what it was not trained on. Default: 0.
     """

    type_: Literal['bolt']
    beta: float | Unset = 0.25
    final_beta: float | None | Unset = UNSET
    group_size: int | Unset = 8
    rounds: int | Unset = 1
    reference: ObjectiveBoltReference | Unset = UNSET
    normalization: ObjectiveBoltNormalization | Unset = UNSET
    zero_spread: ObjectiveBoltZeroSpread | Unset = UNSET
    weights: Literal['advantage'] | Literal['group'] | Literal['raw'] | Literal['step'] | ObjectiveBoltWeightsThreshold | Unset = UNSET
    held_out_prompts: int | Unset = 0

    def to_dict(self) -> dict[str, Any]:
        from ..models.objective_bolt_weights_threshold import ObjectiveBoltWeightsThreshold # noqa: PLC0415
        type_ = self.type_

        beta = self.beta

        final_beta: float | None | Unset
        if isinstance(self.final_beta, Unset):
            final_beta = UNSET
        else:
            final_beta = self.final_beta

        group_size = self.group_size

        rounds = self.rounds

        reference: str | Unset = UNSET
        if not isinstance(self.reference, Unset):
            reference = self.reference.value

        normalization: str | Unset = UNSET
        if not isinstance(self.normalization, Unset):
            normalization = self.normalization.value

        zero_spread: str | Unset = UNSET
        if not isinstance(self.zero_spread, Unset):
            zero_spread = self.zero_spread.value

        weights: dict[str, Any] | Literal['advantage'] | Literal['group'] | Literal['raw'] | Literal['step'] | Unset
        if isinstance(self.weights, Unset):
            weights = UNSET
        elif isinstance(self.weights, ObjectiveBoltWeightsThreshold):
            weights = self.weights.to_dict()
        else:
            weights = self.weights

        held_out_prompts = self.held_out_prompts

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if beta is not UNSET:
            field_dict["beta"] = beta
        if final_beta is not UNSET:
            field_dict["final_beta"] = final_beta
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
        if rounds is not UNSET:
            field_dict["rounds"] = rounds
        if reference is not UNSET:
            field_dict["reference"] = reference
        if normalization is not UNSET:
            field_dict["normalization"] = normalization
        if zero_spread is not UNSET:
            field_dict["zero_spread"] = zero_spread
        if weights is not UNSET:
            field_dict["weights"] = weights
        if held_out_prompts is not UNSET:
            field_dict["held_out_prompts"] = held_out_prompts

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.objective_bolt_weights_threshold import ObjectiveBoltWeightsThreshold # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['bolt'] , d.pop("type"))
        if type_ != 'bolt':
            raise ValueError(f"type must match const 'bolt', got '{type_}'")

        beta = d.pop("beta", UNSET)

        def _parse_final_beta(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        final_beta = _parse_final_beta(d.pop("final_beta", UNSET))

        group_size = d.pop("group_size", UNSET)

        rounds = d.pop("rounds", UNSET)

        _reference = d.pop("reference", UNSET)
        reference: ObjectiveBoltReference | Unset
        if isinstance(_reference,  Unset):
            reference = UNSET
        else:
            reference = ObjectiveBoltReference(_reference)

        _normalization = d.pop("normalization", UNSET)
        normalization: ObjectiveBoltNormalization | Unset
        if isinstance(_normalization,  Unset):
            normalization = UNSET
        else:
            normalization = ObjectiveBoltNormalization(_normalization)

        _zero_spread = d.pop("zero_spread", UNSET)
        zero_spread: ObjectiveBoltZeroSpread | Unset
        if isinstance(_zero_spread,  Unset):
            zero_spread = UNSET
        else:
            zero_spread = ObjectiveBoltZeroSpread(_zero_spread)

        def _parse_weights(data: object) -> Literal['advantage'] | Literal['group'] | Literal['raw'] | Literal['step'] | ObjectiveBoltWeightsThreshold | Unset:
            if isinstance(data, Unset):
                return data
            componentsschemas_objective_bolt_weights_type_0 = cast(Literal['group'] , data)
            if componentsschemas_objective_bolt_weights_type_0 != 'group':
                raise ValueError(f"/components/schemas/ObjectiveBoltWeights_type_0 must match const 'group', got '{componentsschemas_objective_bolt_weights_type_0}'")
            return componentsschemas_objective_bolt_weights_type_0
            componentsschemas_objective_bolt_weights_type_1 = cast(Literal['step'] , data)
            if componentsschemas_objective_bolt_weights_type_1 != 'step':
                raise ValueError(f"/components/schemas/ObjectiveBoltWeights_type_1 must match const 'step', got '{componentsschemas_objective_bolt_weights_type_1}'")
            return componentsschemas_objective_bolt_weights_type_1
            componentsschemas_objective_bolt_weights_type_2 = cast(Literal['raw'] , data)
            if componentsschemas_objective_bolt_weights_type_2 != 'raw':
                raise ValueError(f"/components/schemas/ObjectiveBoltWeights_type_2 must match const 'raw', got '{componentsschemas_objective_bolt_weights_type_2}'")
            return componentsschemas_objective_bolt_weights_type_2
            componentsschemas_objective_bolt_weights_type_3 = cast(Literal['advantage'] , data)
            if componentsschemas_objective_bolt_weights_type_3 != 'advantage':
                raise ValueError(f"/components/schemas/ObjectiveBoltWeights_type_3 must match const 'advantage', got '{componentsschemas_objective_bolt_weights_type_3}'")
            return componentsschemas_objective_bolt_weights_type_3
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_objective_bolt_weights_type_4 = ObjectiveBoltWeightsThreshold.from_dict(data)

            return componentsschemas_objective_bolt_weights_type_4

        weights = _parse_weights(d.pop("weights", UNSET))

        held_out_prompts = d.pop("held_out_prompts", UNSET)

        objective_bolt = cls(
            type_=type_,
            beta=beta,
            final_beta=final_beta,
            group_size=group_size,
            rounds=rounds,
            reference=reference,
            normalization=normalization,
            zero_spread=zero_spread,
            weights=weights,
            held_out_prompts=held_out_prompts,
        )

        return objective_bolt
