from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_policy_gradient_correction import ObjectivePolicyGradientCorrection
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.advantage_asym import AdvantageAsym
  from ..models.advantage_fade import AdvantageFade
  from ..models.advantage_focal import AdvantageFocal
  from ..models.advantage_pass_at_k import AdvantagePassAtK
  from ..models.advantage_power import AdvantagePower
  from ..models.advantage_weighted import AdvantageWeighted

T = TypeVar("T", bound="ObjectivePolicyGradient")

@_attrs_define
class ObjectivePolicyGradient:
    """ The score-function estimator with a choice of advantages (reinforce, mean, rloo, maxrl, pass_at_k, ...) and of off-
    policy corrections; for comparisons and ablations.

        Attributes:
            type_ (Literal['policy_gradient']):
            group_size (int | Unset): Completions per prompt. Default: 8.
            advantage (AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantagePassAtK | AdvantagePower |
                AdvantageWeighted | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] |
                Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset): How the rewards of a group become advantages.
            correction (ObjectivePolicyGradientCorrection | Unset): What is done about completions that another policy
                sampled.

                - `none`: Nothing.
                - `importance`: Importance weights, detached.
                - `clip`: PPO's clipped surrogate.
            clip_low (float | Unset): With `correction: "clip"`: the ratio's gradient is cut off below `1 - clip_low`.
                Default: 0.2.
            clip_high (float | Unset): With `correction: "clip"`: the ratio's gradient is cut off above `1 + clip_high`.
                Default: 0.2.
     """

    type_: Literal['policy_gradient']
    group_size: int | Unset = 8
    advantage: AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantagePassAtK | AdvantagePower | AdvantageWeighted | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset = UNSET
    correction: ObjectivePolicyGradientCorrection | Unset = UNSET
    clip_low: float | Unset = 0.2
    clip_high: float | Unset = 0.2

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_asym import AdvantageAsym # noqa: PLC0415
        from ..models.advantage_fade import AdvantageFade # noqa: PLC0415
        from ..models.advantage_focal import AdvantageFocal # noqa: PLC0415
        from ..models.advantage_pass_at_k import AdvantagePassAtK # noqa: PLC0415
        from ..models.advantage_power import AdvantagePower # noqa: PLC0415
        from ..models.advantage_weighted import AdvantageWeighted # noqa: PLC0415
        type_ = self.type_

        group_size = self.group_size

        advantage: dict[str, Any] | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset
        if isinstance(self.advantage, Unset):
            advantage = UNSET
        elif isinstance(self.advantage, AdvantageWeighted):
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

        clip_low = self.clip_low

        clip_high = self.clip_high

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
        if clip_low is not UNSET:
            field_dict["clip_low"] = clip_low
        if clip_high is not UNSET:
            field_dict["clip_high"] = clip_high

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_asym import AdvantageAsym # noqa: PLC0415
        from ..models.advantage_fade import AdvantageFade # noqa: PLC0415
        from ..models.advantage_focal import AdvantageFocal # noqa: PLC0415
        from ..models.advantage_pass_at_k import AdvantagePassAtK # noqa: PLC0415
        from ..models.advantage_power import AdvantagePower # noqa: PLC0415
        from ..models.advantage_weighted import AdvantageWeighted # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['policy_gradient'] , d.pop("type"))
        if type_ != 'policy_gradient':
            raise ValueError(f"type must match const 'policy_gradient', got '{type_}'")

        group_size = d.pop("group_size", UNSET)

        def _parse_advantage(data: object) -> AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantagePassAtK | AdvantagePower | AdvantageWeighted | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset:
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
            componentsschemas_advantage_type_7 = cast(Literal['maxrl'] , data)
            if componentsschemas_advantage_type_7 != 'maxrl':
                raise ValueError(f"/components/schemas/Advantage_type_7 must match const 'maxrl', got '{componentsschemas_advantage_type_7}'")
            return componentsschemas_advantage_type_7
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_8 = AdvantagePassAtK.from_dict(data)

                return componentsschemas_advantage_type_8
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_9 = AdvantagePower.from_dict(data)

                return componentsschemas_advantage_type_9
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_10 = AdvantageAsym.from_dict(data)

                return componentsschemas_advantage_type_10
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_advantage_type_11 = AdvantageFocal.from_dict(data)

                return componentsschemas_advantage_type_11
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_advantage_type_12 = AdvantageFade.from_dict(data)

            return componentsschemas_advantage_type_12

        advantage = _parse_advantage(d.pop("advantage", UNSET))

        _correction = d.pop("correction", UNSET)
        correction: ObjectivePolicyGradientCorrection | Unset
        if isinstance(_correction,  Unset):
            correction = UNSET
        else:
            correction = ObjectivePolicyGradientCorrection(_correction)

        clip_low = d.pop("clip_low", UNSET)

        clip_high = d.pop("clip_high", UNSET)

        objective_policy_gradient = cls(
            type_=type_,
            group_size=group_size,
            advantage=advantage,
            correction=correction,
            clip_low=clip_low,
            clip_high=clip_high,
        )

        return objective_policy_gradient
