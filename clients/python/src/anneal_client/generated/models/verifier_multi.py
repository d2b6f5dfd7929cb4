from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_multi_combine import VerifierMultiCombine
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.verifier_multi_gates import VerifierMultiGates
  from ..models.verifier_multi_graders import VerifierMultiGraders
  from ..models.verifier_multi_weights import VerifierMultiWeights

T = TypeVar("T", bound="VerifierMulti")

@_attrs_define
class VerifierMulti:
    """ One reward of several verifiers: a formula (OpenAI's grader) or a rule with weights, behind gates.

        Attributes:
            type_ (Literal['multi']):
            graders (VerifierMultiGraders): The members by the names that the formula gives them: any verifier besides
                `multi`.
            name (None | str | Unset): A name for people.
            calculate_output (None | str | Unset): The reward, for example `0.8 * right + 0.2 * max(brief, 0.5)`; operators
                are `+ - * / ^`, functions are `min`,
                `max`, `abs`, `floor`, `ceil`, `exp`, `sqrt` and `log`. Either this or `combine`.
            combine (None | Unset | VerifierMultiCombine): How the reward is made of those of the members where there is no
                formula.
            weights (VerifierMultiWeights | Unset): The weights of members in `weighted_mean` and `sum`; 1 for those that
                are not named.
            pass_ (float | Unset): The reward from which on a member counts as passed in `all` and `any`. Default: 1.0.
            gates (VerifierMultiGates | Unset): Members that must give at least this reward before the others are asked.
            closed_reward (float | Unset): The reward where a gate is closed. Default: 0.0.
            time_limit_seconds (float | None | Unset): Seconds one verification may take; by default as many as its members
                together, which are asked one after the other.
                It may not be less than that of a member.
     """

    type_: Literal['multi']
    graders: VerifierMultiGraders
    name: None | str | Unset = UNSET
    calculate_output: None | str | Unset = UNSET
    combine: None | Unset | VerifierMultiCombine = UNSET
    weights: VerifierMultiWeights | Unset = UNSET
    pass_: float | Unset = 1.0
    gates: VerifierMultiGates | Unset = UNSET
    closed_reward: float | Unset = 0.0
    time_limit_seconds: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.verifier_multi_gates import VerifierMultiGates # noqa: PLC0415
        from ..models.verifier_multi_graders import VerifierMultiGraders # noqa: PLC0415
        from ..models.verifier_multi_weights import VerifierMultiWeights # noqa: PLC0415
        type_ = self.type_

        graders = self.graders.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        calculate_output: None | str | Unset
        if isinstance(self.calculate_output, Unset):
            calculate_output = UNSET
        else:
            calculate_output = self.calculate_output

        combine: None | str | Unset
        if isinstance(self.combine, Unset):
            combine = UNSET
        elif isinstance(self.combine, VerifierMultiCombine):
            combine = self.combine.value
        else:
            combine = self.combine

        weights: dict[str, Any] | Unset = UNSET
        if not isinstance(self.weights, Unset):
            weights = self.weights.to_dict()

        pass_ = self.pass_

        gates: dict[str, Any] | Unset = UNSET
        if not isinstance(self.gates, Unset):
            gates = self.gates.to_dict()

        closed_reward = self.closed_reward

        time_limit_seconds: float | None | Unset
        if isinstance(self.time_limit_seconds, Unset):
            time_limit_seconds = UNSET
        else:
            time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "graders": graders,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if calculate_output is not UNSET:
            field_dict["calculate_output"] = calculate_output
        if combine is not UNSET:
            field_dict["combine"] = combine
        if weights is not UNSET:
            field_dict["weights"] = weights
        if pass_ is not UNSET:
            field_dict["pass"] = pass_
        if gates is not UNSET:
            field_dict["gates"] = gates
        if closed_reward is not UNSET:
            field_dict["closed_reward"] = closed_reward
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.verifier_multi_gates import VerifierMultiGates # noqa: PLC0415
        from ..models.verifier_multi_graders import VerifierMultiGraders # noqa: PLC0415
        from ..models.verifier_multi_weights import VerifierMultiWeights # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['multi'] , d.pop("type"))
        if type_ != 'multi':
            raise ValueError(f"type must match const 'multi', got '{type_}'")

        graders = VerifierMultiGraders.from_dict(d.pop("graders"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_calculate_output(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        calculate_output = _parse_calculate_output(d.pop("calculate_output", UNSET))

        def _parse_combine(data: object) -> None | Unset | VerifierMultiCombine:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                combine_type_0 = VerifierMultiCombine(data)

                return combine_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | VerifierMultiCombine, data)

        combine = _parse_combine(d.pop("combine", UNSET))

        _weights = d.pop("weights", UNSET)
        weights: VerifierMultiWeights | Unset
        if isinstance(_weights,  Unset):
            weights = UNSET
        else:
            weights = VerifierMultiWeights.from_dict(_weights)

        pass_ = d.pop("pass", UNSET)

        _gates = d.pop("gates", UNSET)
        gates: VerifierMultiGates | Unset
        if isinstance(_gates,  Unset):
            gates = UNSET
        else:
            gates = VerifierMultiGates.from_dict(_gates)

        closed_reward = d.pop("closed_reward", UNSET)

        def _parse_time_limit_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        time_limit_seconds = _parse_time_limit_seconds(d.pop("time_limit_seconds", UNSET))

        verifier_multi = cls(
            type_=type_,
            graders=graders,
            name=name,
            calculate_output=calculate_output,
            combine=combine,
            weights=weights,
            pass_=pass_,
            gates=gates,
            closed_reward=closed_reward,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_multi
