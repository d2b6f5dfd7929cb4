from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_p3o_ess_scope import ObjectiveP3OEssScope
from ..models.objective_p3o_kl_estimator import ObjectiveP3OKlEstimator
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

T = TypeVar("T", bound="ObjectiveP3O")

@_attrs_define
class ObjectiveP3O:
    """ Policy gradient whose off-policy correction adapts by itself: the effective sample size of the step's ratios caps
    them and weighs a KL term. Made for reused, stale, mixed or temperature-shifted completions.

        Attributes:
            type_ (Literal['p3o']):
            group_size (int | Unset): Completions per prompt. Default: 8.
            advantage (AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantageLogMeanExp | AdvantagePassAtK |
                AdvantagePower | AdvantageWeighted | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] |
                Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] |
                Literal['rloo'] | Unset): How the rewards of a group become advantages.
            ess_scope (ObjectiveP3OEssScope | Unset): The tokens over which the effective sample size is taken.

                - `step`: All tokens of the optimizer step; how it is cut into micro-batches changes nothing.
                - `micro_batch`: Those of each micro-batch, as in the authors' code; the result depends on
                `train.micro_batch_tokens`.
            kl_estimator (ObjectiveP3OKlEstimator | Unset): What holds the policy back.

                - `k3`: As published: k3 over completions of the behavior policy, an estimate of chi2(mu || pi) - KL(mu || pi).
                - `importance`: `rho log rho - rho + 1`, an unbiased estimate of KL(pi || mu).
            behavior_coef (float | Unset): Weight of the penalty that holds the policy near the one that sampled; 1 as
                published. Default: 1.0.
            kl_coef (float | Unset): Weight of a KL penalty against the model the job started from, beside the one against
                the behavior policy. Default: 0.0.
            entropy_coef (float | Unset): Weight of the policy's mean entropy per token, which is added to what is aimed at.
                Default: 0.0.
     """

    type_: Literal['p3o']
    group_size: int | Unset = 8
    advantage: AdvantageAsym | AdvantageFade | AdvantageFocal | AdvantageLogMeanExp | AdvantagePassAtK | AdvantagePower | AdvantageWeighted | Literal['batch_std'] | Literal['group_std'] | Literal['group_std_sample'] | Literal['maxrl'] | Literal['mean'] | Literal['mean_batch_std'] | Literal['nsr'] | Literal['reinforce'] | Literal['rloo'] | Unset = UNSET
    ess_scope: ObjectiveP3OEssScope | Unset = UNSET
    kl_estimator: ObjectiveP3OKlEstimator | Unset = UNSET
    behavior_coef: float | Unset = 1.0
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

        ess_scope: str | Unset = UNSET
        if not isinstance(self.ess_scope, Unset):
            ess_scope = self.ess_scope.value

        kl_estimator: str | Unset = UNSET
        if not isinstance(self.kl_estimator, Unset):
            kl_estimator = self.kl_estimator.value

        behavior_coef = self.behavior_coef

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
        if ess_scope is not UNSET:
            field_dict["ess_scope"] = ess_scope
        if kl_estimator is not UNSET:
            field_dict["kl_estimator"] = kl_estimator
        if behavior_coef is not UNSET:
            field_dict["behavior_coef"] = behavior_coef
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
        d = dict(src_dict)
        type_ = cast(Literal['p3o'] , d.pop("type"))
        if type_ != 'p3o':
            raise ValueError(f"type must match const 'p3o', got '{type_}'")

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

        _ess_scope = d.pop("ess_scope", UNSET)
        ess_scope: ObjectiveP3OEssScope | Unset
        if isinstance(_ess_scope,  Unset):
            ess_scope = UNSET
        else:
            ess_scope = ObjectiveP3OEssScope(_ess_scope)

        _kl_estimator = d.pop("kl_estimator", UNSET)
        kl_estimator: ObjectiveP3OKlEstimator | Unset
        if isinstance(_kl_estimator,  Unset):
            kl_estimator = UNSET
        else:
            kl_estimator = ObjectiveP3OKlEstimator(_kl_estimator)

        behavior_coef = d.pop("behavior_coef", UNSET)

        kl_coef = d.pop("kl_coef", UNSET)

        entropy_coef = d.pop("entropy_coef", UNSET)

        objective_p3o = cls(
            type_=type_,
            group_size=group_size,
            advantage=advantage,
            ess_scope=ess_scope,
            kl_estimator=kl_estimator,
            behavior_coef=behavior_coef,
            kl_coef=kl_coef,
            entropy_coef=entropy_coef,
        )

        return objective_p3o
