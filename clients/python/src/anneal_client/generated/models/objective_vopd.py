from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.objective_vopd_estimator import ObjectiveVopdEstimator
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.objective_vopd_baseline_top_k import ObjectiveVopdBaselineTopK

T = TypeVar("T", bound="ObjectiveVopd")

@_attrs_define
class ObjectiveVopd:
    """ Learns from a teacher on its own completions, token by token, with a baseline that lowers the variance without
    moving the expectation. Needs a teacher with the same tokenizer; a verifier is optional.

        Attributes:
            type_ (Literal['vopd']):
            teacher (None | str | Unset): The model to learn from: `mdl_...`, an inference checkpoint `ckpt_...`, a built-
                in, or the path of a model on
                the server below one of its import roots. Required; its tokenizer must be the model's own.
            teacher_sha256 (None | str | Unset): The SHA-256 that the teacher's weights must have, all files in order, in
                lower-case hexadecimal digits. Where the
                teacher is a path, the resolved spec has the one of the submission, and the job fails when it finds other
                weights.
            group_size (int | Unset): Completions per prompt. Default: 4.
            baseline (Literal['full'] | Literal['none'] | ObjectiveVopdBaselineTopK | Unset): The control variate.
            estimator (ObjectiveVopdEstimator | Unset): What is differentiated.

                - `score`: The log-probability of the sampled token, credited with a_t.
                - `full_kl`: The divergence over the whole vocabulary itself.
                - `top_k_kl`: The divergence over the student's k most probable tokens (`baseline: {"top_k": k}`, or 100):
                biased.
            kd_temperature (float | Unset): Divides the logits of student and teacher in r_t and b_t. Default: 1.0.
            reward_weight (float | Unset): Adds this much of the group-standardised reward to every token's credit; needs a
                verifier and groups. Default: 0.0.
            clip_low (float | Unset): With reused completions: the ratio's gradient is cut off below `1 - clip_low`.
                Default: 0.2.
            clip_high (float | Unset): With reused completions: the ratio's gradient is cut off above `1 + clip_high`.
                Default: 0.2.
            gradient_variance_repeats (int | Unset): Before the first step, sample the first step's prompts this many times
                and report how much the gradient varies
                with each baseline; 0 does not. Default: 0.
            gradient_variance_every (int | Unset): With `gradient_variance_repeats`: do so again after every so many steps;
                0 only before the first one. Default: 0.
            reward_floor (float | None | Unset): The least that r_t counts, in nats: a token that the teacher all but rules
                out then pushes no harder than this. The
                expectation moves where it cuts.
     """

    type_: Literal['vopd']
    teacher: None | str | Unset = UNSET
    teacher_sha256: None | str | Unset = UNSET
    group_size: int | Unset = 4
    baseline: Literal['full'] | Literal['none'] | ObjectiveVopdBaselineTopK | Unset = UNSET
    estimator: ObjectiveVopdEstimator | Unset = UNSET
    kd_temperature: float | Unset = 1.0
    reward_weight: float | Unset = 0.0
    clip_low: float | Unset = 0.2
    clip_high: float | Unset = 0.2
    gradient_variance_repeats: int | Unset = 0
    gradient_variance_every: int | Unset = 0
    reward_floor: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.objective_vopd_baseline_top_k import ObjectiveVopdBaselineTopK # noqa: PLC0415
        type_ = self.type_

        teacher: None | str | Unset
        if isinstance(self.teacher, Unset):
            teacher = UNSET
        else:
            teacher = self.teacher

        teacher_sha256: None | str | Unset
        if isinstance(self.teacher_sha256, Unset):
            teacher_sha256 = UNSET
        else:
            teacher_sha256 = self.teacher_sha256

        group_size = self.group_size

        baseline: dict[str, Any] | Literal['full'] | Literal['none'] | Unset
        if isinstance(self.baseline, Unset):
            baseline = UNSET
        elif isinstance(self.baseline, ObjectiveVopdBaselineTopK):
            baseline = self.baseline.to_dict()
        else:
            baseline = self.baseline

        estimator: str | Unset = UNSET
        if not isinstance(self.estimator, Unset):
            estimator = self.estimator.value

        kd_temperature = self.kd_temperature

        reward_weight = self.reward_weight

        clip_low = self.clip_low

        clip_high = self.clip_high

        gradient_variance_repeats = self.gradient_variance_repeats

        gradient_variance_every = self.gradient_variance_every

        reward_floor: float | None | Unset
        if isinstance(self.reward_floor, Unset):
            reward_floor = UNSET
        else:
            reward_floor = self.reward_floor

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if teacher is not UNSET:
            field_dict["teacher"] = teacher
        if teacher_sha256 is not UNSET:
            field_dict["teacher_sha256"] = teacher_sha256
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
        if baseline is not UNSET:
            field_dict["baseline"] = baseline
        if estimator is not UNSET:
            field_dict["estimator"] = estimator
        if kd_temperature is not UNSET:
            field_dict["kd_temperature"] = kd_temperature
        if reward_weight is not UNSET:
            field_dict["reward_weight"] = reward_weight
        if clip_low is not UNSET:
            field_dict["clip_low"] = clip_low
        if clip_high is not UNSET:
            field_dict["clip_high"] = clip_high
        if gradient_variance_repeats is not UNSET:
            field_dict["gradient_variance_repeats"] = gradient_variance_repeats
        if gradient_variance_every is not UNSET:
            field_dict["gradient_variance_every"] = gradient_variance_every
        if reward_floor is not UNSET:
            field_dict["reward_floor"] = reward_floor

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.objective_vopd_baseline_top_k import ObjectiveVopdBaselineTopK # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['vopd'] , d.pop("type"))
        if type_ != 'vopd':
            raise ValueError(f"type must match const 'vopd', got '{type_}'")

        def _parse_teacher(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        teacher = _parse_teacher(d.pop("teacher", UNSET))

        def _parse_teacher_sha256(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        teacher_sha256 = _parse_teacher_sha256(d.pop("teacher_sha256", UNSET))

        group_size = d.pop("group_size", UNSET)

        def _parse_baseline(data: object) -> Literal['full'] | Literal['none'] | ObjectiveVopdBaselineTopK | Unset:
            if isinstance(data, Unset):
                return data
            componentsschemas_objective_vopd_baseline_type_0 = cast(Literal['full'] , data)
            if componentsschemas_objective_vopd_baseline_type_0 != 'full':
                raise ValueError(f"/components/schemas/ObjectiveVopdBaseline_type_0 must match const 'full', got '{componentsschemas_objective_vopd_baseline_type_0}'")
            return componentsschemas_objective_vopd_baseline_type_0
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_vopd_baseline_type_1 = ObjectiveVopdBaselineTopK.from_dict(data)

                return componentsschemas_objective_vopd_baseline_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            componentsschemas_objective_vopd_baseline_type_2 = cast(Literal['none'] , data)
            if componentsschemas_objective_vopd_baseline_type_2 != 'none':
                raise ValueError(f"/components/schemas/ObjectiveVopdBaseline_type_2 must match const 'none', got '{componentsschemas_objective_vopd_baseline_type_2}'")
            return componentsschemas_objective_vopd_baseline_type_2

        baseline = _parse_baseline(d.pop("baseline", UNSET))

        _estimator = d.pop("estimator", UNSET)
        estimator: ObjectiveVopdEstimator | Unset
        if isinstance(_estimator,  Unset):
            estimator = UNSET
        else:
            estimator = ObjectiveVopdEstimator(_estimator)

        kd_temperature = d.pop("kd_temperature", UNSET)

        reward_weight = d.pop("reward_weight", UNSET)

        clip_low = d.pop("clip_low", UNSET)

        clip_high = d.pop("clip_high", UNSET)

        gradient_variance_repeats = d.pop("gradient_variance_repeats", UNSET)

        gradient_variance_every = d.pop("gradient_variance_every", UNSET)

        def _parse_reward_floor(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward_floor = _parse_reward_floor(d.pop("reward_floor", UNSET))

        objective_vopd = cls(
            type_=type_,
            teacher=teacher,
            teacher_sha256=teacher_sha256,
            group_size=group_size,
            baseline=baseline,
            estimator=estimator,
            kd_temperature=kd_temperature,
            reward_weight=reward_weight,
            clip_low=clip_low,
            clip_high=clip_high,
            gradient_variance_repeats=gradient_variance_repeats,
            gradient_variance_every=gradient_variance_every,
            reward_floor=reward_floor,
        )

        return objective_vopd
