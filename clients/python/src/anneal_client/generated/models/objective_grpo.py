from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_grpo_scale import ObjectiveGrpoScale
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.aggregation_constant import AggregationConstant

T = TypeVar("T", bound="ObjectiveGrpo")

@_attrs_define
class ObjectiveGrpo:
    """ Group-relative advantages with PPO's clipped surrogate, the common baseline of verifiable-reward training.

        Attributes:
            type_ (Literal['grpo']):
            group_size (int | Unset): Completions per prompt. Default: 8.
            clip_low (float | Unset): The ratio's gradient is cut off below `1 - clip_low`. Default: 0.2.
            clip_high (float | Unset): The ratio's gradient is cut off above `1 + clip_high`. Default: 0.2.
            scale (ObjectiveGrpoScale | Unset): The standard deviation that a group's advantages are divided by, if any.

                - `std`: Of the population, of G.
                - `sample_std`: Of a sample, of G - 1, as many libraries have it.
            kl_coef (float | Unset): Weight of the KL penalty against the model the job started from. Default: 0.0.
            entropy_coef (float | Unset): Weight of the policy's mean entropy per token, which is added to what is aimed at.
                Default: 0.0.
            aggregation (AggregationConstant | Literal['sequence_mean'] | Literal['token_mean'] | Unset): How the terms of a
                step's tokens become one number.
     """

    type_: Literal['grpo']
    group_size: int | Unset = 8
    clip_low: float | Unset = 0.2
    clip_high: float | Unset = 0.2
    scale: ObjectiveGrpoScale | Unset = UNSET
    kl_coef: float | Unset = 0.0
    entropy_coef: float | Unset = 0.0
    aggregation: AggregationConstant | Literal['sequence_mean'] | Literal['token_mean'] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.aggregation_constant import AggregationConstant # noqa: PLC0415
        type_ = self.type_

        group_size = self.group_size

        clip_low = self.clip_low

        clip_high = self.clip_high

        scale: str | Unset = UNSET
        if not isinstance(self.scale, Unset):
            scale = self.scale.value

        kl_coef = self.kl_coef

        entropy_coef = self.entropy_coef

        aggregation: dict[str, Any] | Literal['sequence_mean'] | Literal['token_mean'] | Unset
        if isinstance(self.aggregation, Unset):
            aggregation = UNSET
        elif isinstance(self.aggregation, AggregationConstant):
            aggregation = self.aggregation.to_dict()
        else:
            aggregation = self.aggregation

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
        if clip_low is not UNSET:
            field_dict["clip_low"] = clip_low
        if clip_high is not UNSET:
            field_dict["clip_high"] = clip_high
        if scale is not UNSET:
            field_dict["scale"] = scale
        if kl_coef is not UNSET:
            field_dict["kl_coef"] = kl_coef
        if entropy_coef is not UNSET:
            field_dict["entropy_coef"] = entropy_coef
        if aggregation is not UNSET:
            field_dict["aggregation"] = aggregation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.aggregation_constant import AggregationConstant # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['grpo'] , d.pop("type"))
        if type_ != 'grpo':
            raise ValueError(f"type must match const 'grpo', got '{type_}'")

        group_size = d.pop("group_size", UNSET)

        clip_low = d.pop("clip_low", UNSET)

        clip_high = d.pop("clip_high", UNSET)

        _scale = d.pop("scale", UNSET)
        scale: ObjectiveGrpoScale | Unset
        if isinstance(_scale,  Unset):
            scale = UNSET
        else:
            scale = ObjectiveGrpoScale(_scale)

        kl_coef = d.pop("kl_coef", UNSET)

        entropy_coef = d.pop("entropy_coef", UNSET)

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

        objective_grpo = cls(
            type_=type_,
            group_size=group_size,
            clip_low=clip_low,
            clip_high=clip_high,
            scale=scale,
            kl_coef=kl_coef,
            entropy_coef=entropy_coef,
            aggregation=aggregation,
        )

        return objective_grpo
