from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_policy_gradient_correction import ObjectivePolicyGradientCorrection
from ..models.objective_policy_gradient_ratio import ObjectivePolicyGradientRatio
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.advantage_asym import AdvantageAsym
  from ..models.advantage_fade import AdvantageFade
  from ..models.advantage_focal import AdvantageFocal
  from ..models.advantage_log_mean_exp import AdvantageLogMeanExp
  from ..models.advantage_pass_at_k import AdvantagePassAtK
  from ..models.advantage_power import AdvantagePower
  from ..models.advantage_weighted import AdvantageWeighted
  from ..models.aggregation_constant import AggregationConstant

T = TypeVar("T", bound="ObjectivePolicyGradient")

@_attrs_define
class ObjectivePolicyGradient:
    """ The score-function estimator with a choice of advantages (reinforce, mean, rloo, maxrl, pass_at_k, ...), of off-
    policy corrections (clip, truncated, masked, ...) by token or by completion, and of normalisations; for the
    published baselines and for ablations.

        Attributes:
            type_ (Literal['policy_gradient']):
            group_size (int | Unset): Completions per prompt. Default: 8.
            advantage (AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantageLogMeanExp | AdvantagePassAtK |
                AdvantagePower | AdvantageWeighted | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] |
                Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] |
                Literal['rloo'] | Unset): How the rewards of a group become advantages.
            correction (ObjectivePolicyGradientCorrection | Unset): What is done about completions that another policy
                sampled.

                - `none`: Nothing.
                - `importance`: Importance weights, detached.
                - `truncated`: Importance weights up to `cap`, detached (truncated importance sampling, Ionides 2008).
                - `masked`: Importance weights; what has one above `cap` does not count (masked importance sampling).
                - `clipped_weights`: Importance weights within the clip range, detached, so that no token loses its gradient
                (CISPO, arXiv 2506.13585).
                - `clip`: PPO's clipped surrogate; with `ratio` "sequence_mean" that of GSPO (arXiv 2507.18071).
                - `decoupled`: The same with ratios to the policy that the steps of the sampling phase began with, and
                importance weights of that one up to `cap`, detached: the decoupled loss of arXiv 2110.00641 (eq. 5), for
                completions that were sampled ahead (`train.max_lag`, arXiv 2505.24298). It costs one more forward pass over
                each sampled completion.
            ratio (ObjectivePolicyGradientRatio | Unset): Whose probabilities a ratio policy / behavior compares.

                - `token`: Each token's own.
                - `sequence`: The whole completion's: the product over its tokens. The sum of the logarithms is clipped to [-20,
                20].
                - `sequence_mean`: The geometric mean over the completion's tokens (GSPO, arXiv 2507.18071).
            clip_low (float | Unset): With `correction` "clip", "decoupled" and "clipped_weights": the ratio counts down to
                `1 - clip_low`. Default: 0.2.
            clip_high (float | Unset): With `correction` "clip", "decoupled" and "clipped_weights": the ratio counts up to
                `1 + clip_high`. Default: 0.2.
            cap (float | Unset): With `correction` "truncated", "masked" and "decoupled": the importance weight counts up to
                it. Default: 2.0.
            aggregation (AggregationConstant | Literal['sequence_mean'] | Literal['token_mean'] | Unset): How the terms of a
                step's tokens become one number.
            kl_coef (float | Unset): Weight of the KL penalty against the model the job started from. Default: 0.0.
            entropy_coef (float | Unset): Weight of the policy's mean entropy per token, which is added to what is aimed at.
                Default: 0.0.
     """

    type_: Literal['policy_gradient']
    group_size: int | Unset = 8
    advantage: AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantageLogMeanExp | AdvantagePassAtK | AdvantagePower | AdvantageWeighted | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset = UNSET
    correction: ObjectivePolicyGradientCorrection | Unset = UNSET
    ratio: ObjectivePolicyGradientRatio | Unset = UNSET
    clip_low: float | Unset = 0.2
    clip_high: float | Unset = 0.2
    cap: float | Unset = 2.0
    aggregation: AggregationConstant | Literal['sequence_mean'] | Literal['token_mean'] | Unset = UNSET
    kl_coef: float | Unset = 0.0
    entropy_coef: float | Unset = 0.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_asym import AdvantageAsym # noqa: PLC0415
        from ..models.advantage_fade import AdvantageFade # noqa: PLC0415
        from ..models.advantage_focal import AdvantageFocal # noqa: PLC0415
        from ..models.advantage_log_mean_exp import AdvantageLogMeanExp # noqa: PLC0415
        from ..models.advantage_pass_at_k import AdvantagePassAtK # noqa: PLC0415
        from ..models.advantage_power import AdvantagePower # noqa: PLC0415
        from ..models.advantage_weighted import AdvantageWeighted # noqa: PLC0415
        from ..models.aggregation_constant import AggregationConstant # noqa: PLC0415
        type_ = self.type_

        group_size = self.group_size

        advantage: dict[str, Any] | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset
        if isinstance(self.advantage, Unset):
            advantage = UNSET
        elif isinstance(self.advantage, AdvantageWeighted):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantageLogMeanExp):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantagePassAtK):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantagePower):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantageAsym):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantageFocal):
            advantage = self.advantage.to_dict()
        elif isinstance(self.advantage, AdvantageFade):
            advantage = self.advantage.to_dict()
        else:
            advantage = self.advantage

        correction: str | Unset = UNSET
        if not isinstance(self.correction, Unset):
            correction = self.correction.value

        ratio: str | Unset = UNSET
        if not isinstance(self.ratio, Unset):
            ratio = self.ratio.value

        clip_low = self.clip_low

        clip_high = self.clip_high

        cap = self.cap

        aggregation: dict[str, Any] | Literal['sequence_mean'] | Literal['token_mean'] | Unset
        if isinstance(self.aggregation, Unset):
            aggregation = UNSET
        elif isinstance(self.aggregation, AggregationConstant):
            aggregation = self.aggregation.to_dict()
        else:
            aggregation = self.aggregation

        kl_coef = self.kl_coef

        entropy_coef = self.entropy_coef

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
        if advantage is not UNSET:
            field_dict["advantage"] = advantage
        if correction is not UNSET:
            field_dict["correction"] = correction
        if ratio is not UNSET:
            field_dict["ratio"] = ratio
        if clip_low is not UNSET:
            field_dict["clip_low"] = clip_low
        if clip_high is not UNSET:
            field_dict["clip_high"] = clip_high
        if cap is not UNSET:
            field_dict["cap"] = cap
        if aggregation is not UNSET:
            field_dict["aggregation"] = aggregation
        if kl_coef is not UNSET:
            field_dict["kl_coef"] = kl_coef
        if entropy_coef is not UNSET:
            field_dict["entropy_coef"] = entropy_coef

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_asym import AdvantageAsym # noqa: PLC0415
        from ..models.advantage_fade import AdvantageFade # noqa: PLC0415
        from ..models.advantage_focal import AdvantageFocal # noqa: PLC0415
        from ..models.advantage_log_mean_exp import AdvantageLogMeanExp # noqa: PLC0415
        from ..models.advantage_pass_at_k import AdvantagePassAtK # noqa: PLC0415
        from ..models.advantage_power import AdvantagePower # noqa: PLC0415
        from ..models.advantage_weighted import AdvantageWeighted # noqa: PLC0415
        from ..models.aggregation_constant import AggregationConstant # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['policy_gradient'] , d.pop("type"))
        if type_ != 'policy_gradient':
            raise ValueError(f"type must match const 'policy_gradient', got '{type_}'")

        group_size = d.pop("group_size", UNSET)

        def _parse_advantage(data: object) -> AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantageLogMeanExp | AdvantagePassAtK | AdvantagePower | AdvantageWeighted | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset:
            if isinstance(data, Unset):
                return data
            componentsschemas_advantage_type_0 = cast(Literal['reinforce'] , data)
            if componentsschemas_advantage_type_0 != 'reinforce':
                raise ValueError(f"/components/schemas/Advantage_type_0 must match const 'reinforce', got '{componentsschemas_advantage_type_0}'")
            return componentsschemas_advantage_type_0
            componentsschemas_advantage_type_1 = cast(Literal['nsr'] , data)
            if componentsschemas_advantage_type_1 != 'nsr':
                raise ValueError(f"/components/schemas/Advantage_type_1 must match const 'nsr', got '{componentsschemas_advantage_type_1}'")
            return componentsschemas_advantage_type_1
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_2 = AdvantageWeighted.from_dict(data)

                return componentsschemas_advantage_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            componentsschemas_advantage_type_3 = cast(Literal['mean'] , data)
            if componentsschemas_advantage_type_3 != 'mean':
                raise ValueError(f"/components/schemas/Advantage_type_3 must match const 'mean', got '{componentsschemas_advantage_type_3}'")
            return componentsschemas_advantage_type_3
            componentsschemas_advantage_type_4 = cast(Literal['rloo'] , data)
            if componentsschemas_advantage_type_4 != 'rloo':
                raise ValueError(f"/components/schemas/Advantage_type_4 must match const 'rloo', got '{componentsschemas_advantage_type_4}'")
            return componentsschemas_advantage_type_4
            componentsschemas_advantage_type_5 = cast(Literal['group_std'] , data)
            if componentsschemas_advantage_type_5 != 'group_std':
                raise ValueError(f"/components/schemas/Advantage_type_5 must match const 'group_std', got '{componentsschemas_advantage_type_5}'")
            return componentsschemas_advantage_type_5
            componentsschemas_advantage_type_6 = cast(Literal['group_std_sample'] , data)
            if componentsschemas_advantage_type_6 != 'group_std_sample':
                raise ValueError(f"/components/schemas/Advantage_type_6 must match const 'group_std_sample', got '{componentsschemas_advantage_type_6}'")
            return componentsschemas_advantage_type_6
            componentsschemas_advantage_type_7 = cast(Literal['batch_std'] , data)
            if componentsschemas_advantage_type_7 != 'batch_std':
                raise ValueError(f"/components/schemas/Advantage_type_7 must match const 'batch_std', got '{componentsschemas_advantage_type_7}'")
            return componentsschemas_advantage_type_7
            componentsschemas_advantage_type_8 = cast(Literal['mean_batch_std'] , data)
            if componentsschemas_advantage_type_8 != 'mean_batch_std':
                raise ValueError(f"/components/schemas/Advantage_type_8 must match const 'mean_batch_std', got '{componentsschemas_advantage_type_8}'")
            return componentsschemas_advantage_type_8
            componentsschemas_advantage_type_9 = cast(Literal['maxrl'] , data)
            if componentsschemas_advantage_type_9 != 'maxrl':
                raise ValueError(f"/components/schemas/Advantage_type_9 must match const 'maxrl', got '{componentsschemas_advantage_type_9}'")
            return componentsschemas_advantage_type_9
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_10 = AdvantageLogMeanExp.from_dict(data)

                return componentsschemas_advantage_type_10
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_11 = AdvantagePassAtK.from_dict(data)

                return componentsschemas_advantage_type_11
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_12 = AdvantagePower.from_dict(data)

                return componentsschemas_advantage_type_12
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_13 = AdvantageAsym.from_dict(data)

                return componentsschemas_advantage_type_13
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_14 = AdvantageFocal.from_dict(data)

                return componentsschemas_advantage_type_14
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_advantage_type_15 = AdvantageFade.from_dict(data)

            return componentsschemas_advantage_type_15

        advantage = _parse_advantage(d.pop("advantage", UNSET))

        _correction = d.pop("correction", UNSET)
        correction: ObjectivePolicyGradientCorrection | Unset
        if isinstance(_correction,  Unset):
            correction = UNSET
        else:
            correction = ObjectivePolicyGradientCorrection(_correction)

        _ratio = d.pop("ratio", UNSET)
        ratio: ObjectivePolicyGradientRatio | Unset
        if isinstance(_ratio,  Unset):
            ratio = UNSET
        else:
            ratio = ObjectivePolicyGradientRatio(_ratio)

        clip_low = d.pop("clip_low", UNSET)

        clip_high = d.pop("clip_high", UNSET)

        cap = d.pop("cap", UNSET)

        def _parse_aggregation(data: object) -> AggregationConstant | Literal['sequence_mean'] | Literal['token_mean'] | Unset:
            if isinstance(data, Unset):
                return data
            componentsschemas_aggregation_type_0 = cast(Literal['token_mean'] , data)
            if componentsschemas_aggregation_type_0 != 'token_mean':
                raise ValueError(f"/components/schemas/Aggregation_type_0 must match const 'token_mean', got '{componentsschemas_aggregation_type_0}'")
            return componentsschemas_aggregation_type_0
            componentsschemas_aggregation_type_1 = cast(Literal['sequence_mean'] , data)
            if componentsschemas_aggregation_type_1 != 'sequence_mean':
                raise ValueError(f"/components/schemas/Aggregation_type_1 must match const 'sequence_mean', got '{componentsschemas_aggregation_type_1}'")
            return componentsschemas_aggregation_type_1
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_aggregation_type_2 = AggregationConstant.from_dict(data)

            return componentsschemas_aggregation_type_2

        aggregation = _parse_aggregation(d.pop("aggregation", UNSET))

        kl_coef = d.pop("kl_coef", UNSET)

        entropy_coef = d.pop("entropy_coef", UNSET)

        objective_policy_gradient = cls(
            type_=type_,
            group_size=group_size,
            advantage=advantage,
            correction=correction,
            ratio=ratio,
            clip_low=clip_low,
            clip_high=clip_high,
            cap=cap,
            aggregation=aggregation,
            kl_coef=kl_coef,
            entropy_coef=entropy_coef,
        )

        return objective_policy_gradient
