from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

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
            from_ (None | str | Unset): Train on a stored rollout set (`rs_...`) and sample nothing.
            mix (MixSpec | None | Unset): Fill a share of every step from a stored rollout set.
     """

    keep: bool | Unset = False
    sample: int | Unset = UNSET
    from_: None | str | Unset = UNSET
    mix: MixSpec | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.mix_spec import MixSpec # noqa: PLC0415
        keep = self.keep

        sample = self.sample

        from_: None | str | Unset
        if isinstance(self.from_, Unset):
            from_ = UNSET
        else:
            from_ = self.from_

        mix: dict[str, Any] | None | Unset
        if isinstance(self.mix, Unset):
            mix = UNSET
        elif isinstance(self.mix, MixSpec):
            mix = self.mix.to_dict()
        else:
            mix = self.mix

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if keep is not UNSET:
            field_dict["keep"] = keep
        if sample is not UNSET:
            field_dict["sample"] = sample
        if from_ is not UNSET:
            field_dict["from"] = from_
        if mix is not UNSET:
            field_dict["mix"] = mix

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.mix_spec import MixSpec # noqa: PLC0415
        d = dict(src_dict)
        keep = d.pop("keep", UNSET)

        sample = d.pop("sample", UNSET)

        def _parse_from_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        from_ = _parse_from_(d.pop("from", UNSET))

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

        rollout_spec = cls(
            keep=keep,
            sample=sample,
            from_=from_,
            mix=mix,
        )

        return rollout_spec
