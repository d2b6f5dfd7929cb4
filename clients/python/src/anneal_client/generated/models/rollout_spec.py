from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.reward_control import RewardControl
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.mix_spec import MixSpec

T = TypeVar("T", bound="RolloutSpec")

@_attrs_define
class RolloutSpec:
    """ Stored completions: kept for later, or used instead of sampling.

        Attributes:
            keep (bool | Unset): Keep every completion that the job samples for training as a rollout set. Default: False.
            sample (int | Unset): Completions of each step that are kept to be looked at where not all are, as far as 256
                MiB go; 0 keeps none.
            dynamic_sampling (int | Unset): Replace prompts whose completions all earn the same, from which comparisons
                learn nothing, by other prompts, and
                these in turn, at most so many times a sampling phase (dynamic sampling, arXiv 2503.14476); what still teaches
                nothing then stays.
            from_ (None | str | Unset): Train on a stored rollout set (`rs_...`) and sample nothing.
            from_another_model (bool | Unset): The stored set may be of another model with the same tokenizer, for
                objectives that correct for whoever sampled:
                the log-probabilities in it are that model's.
            mix (MixSpec | None | Unset): Fill a share of every step from a stored rollout set.
            control (None | RewardControl | Unset): Train on rewards that say nothing of the completions, as a control run
                of a job does. Evaluations have the
                verifier's.
     """

    keep: bool | Unset = False
    sample: int | Unset = UNSET
    dynamic_sampling: int | Unset = UNSET
    from_: None | str | Unset = UNSET
    from_another_model: bool | Unset = UNSET
    mix: MixSpec | None | Unset = UNSET
    control: None | RewardControl | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.mix_spec import MixSpec # noqa: PLC0415
        keep = self.keep

        sample = self.sample

        dynamic_sampling = self.dynamic_sampling

        from_: None | str | Unset
        if isinstance(self.from_, Unset):
            from_ = UNSET
        else:
            from_ = self.from_

        from_another_model = self.from_another_model

        mix: dict[str, Any] | None | Unset
        if isinstance(self.mix, Unset):
            mix = UNSET
        elif isinstance(self.mix, MixSpec):
            mix = self.mix.to_dict()
        else:
            mix = self.mix

        control: None | str | Unset
        if isinstance(self.control, Unset):
            control = UNSET
        elif isinstance(self.control, RewardControl):
            control = self.control.value
        else:
            control = self.control

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if keep is not UNSET:
            field_dict["keep"] = keep
        if sample is not UNSET:
            field_dict["sample"] = sample
        if dynamic_sampling is not UNSET:
            field_dict["dynamic_sampling"] = dynamic_sampling
        if from_ is not UNSET:
            field_dict["from"] = from_
        if from_another_model is not UNSET:
            field_dict["from_another_model"] = from_another_model
        if mix is not UNSET:
            field_dict["mix"] = mix
        if control is not UNSET:
            field_dict["control"] = control

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.mix_spec import MixSpec # noqa: PLC0415
        d = dict(src_dict)
        keep = d.pop("keep", UNSET)

        sample = d.pop("sample", UNSET)

        dynamic_sampling = d.pop("dynamic_sampling", UNSET)

        def _parse_from_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        from_ = _parse_from_(d.pop("from", UNSET))

        from_another_model = d.pop("from_another_model", UNSET)

        def _parse_mix(data: object) -> MixSpec | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                mix_type_0 = MixSpec.from_dict(data)

                return mix_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MixSpec | None | Unset, data)

        mix = _parse_mix(d.pop("mix", UNSET))

        def _parse_control(data: object) -> None | RewardControl | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                control_type_0 = RewardControl(data)

                return control_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RewardControl | Unset, data)

        control = _parse_control(d.pop("control", UNSET))

        rollout_spec = cls(
            keep=keep,
            sample=sample,
            dynamic_sampling=dynamic_sampling,
            from_=from_,
            from_another_model=from_another_model,
            mix=mix,
            control=control,
        )

        return rollout_spec
