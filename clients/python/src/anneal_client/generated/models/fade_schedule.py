from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.alpha_follows import AlphaFollows
from ..models.auto import Auto
from ..models.ema_convention import EmaConvention
from ..models.entropy_scale import EntropyScale
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="FadeSchedule")

@_attrs_define
class FadeSchedule:
    """ The part of the configuration that makes advantages; also `advantage: {"fade": {...}}` of other objectives.

        Attributes:
            ema (float | Unset): Weight of a new step in the running averages; with 0.02 they follow within about 100 steps.
                Default: 0.02.
            alpha_max (float | Unset): Largest exponent of the difficulty axis; 1 turns it off. Default: 3.0.
            delta_min (float | Unset): Smallest divisor of negative advantages; 1 turns the sign axis off. Default: 0.3.
            entropy_target (Auto | float | Unset): H*, the mean token entropy that is aimed at, in nats.
            ema_convention (EmaConvention | Unset): Which of its two factors the old average has in the update.

                - `standard`: `p_hat <- (1 - ema) p_hat + ema p`: slow.
                - `as_printed`: `p_hat <- ema p_hat + (1 - ema) p`, as the paper prints it: almost the last step alone.
            entropy_scale (EntropyScale | Unset): How far entropy is from its target.

                - `absolute`: In nats: `H_hat - H*`.
                - `relative`: As a share: `(H_hat - H*) / H*`, for models whose entropy is small from the start.
            alpha_follows (AlphaFollows | Unset): What the exponent of the difficulty axis follows; the latter two are for
                comparisons.

                - `solve_rate`: The solve rate: `clip(3 (1 - p_hat) / (2 p_hat), 1, alpha_max)`.
                - `entropy`: Entropy, as the sign axis does: `alpha_max` at the first step's, 1 at its target, `clip(1 +
                (alpha_max - 1) (H_hat - H*) / (H_0 - H*), 1, alpha_max)`.
                - `log_steps`: Nothing but the logarithm of the steps t: `clip(alpha_max - log(1 + ema t), 1, alpha_max)`.
     """

    ema: float | Unset = 0.02
    alpha_max: float | Unset = 3.0
    delta_min: float | Unset = 0.3
    entropy_target: Auto | float | Unset = UNSET
    ema_convention: EmaConvention | Unset = UNSET
    entropy_scale: EntropyScale | Unset = UNSET
    alpha_follows: AlphaFollows | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        ema = self.ema

        alpha_max = self.alpha_max

        delta_min = self.delta_min

        entropy_target: float | str | Unset
        if isinstance(self.entropy_target, Unset):
            entropy_target = UNSET
        elif isinstance(self.entropy_target, Auto):
            entropy_target = self.entropy_target.value
        else:
            entropy_target = self.entropy_target

        ema_convention: str | Unset = UNSET
        if not isinstance(self.ema_convention, Unset):
            ema_convention = self.ema_convention.value

        entropy_scale: str | Unset = UNSET
        if not isinstance(self.entropy_scale, Unset):
            entropy_scale = self.entropy_scale.value

        alpha_follows: str | Unset = UNSET
        if not isinstance(self.alpha_follows, Unset):
            alpha_follows = self.alpha_follows.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if ema is not UNSET:
            field_dict["ema"] = ema
        if alpha_max is not UNSET:
            field_dict["alpha_max"] = alpha_max
        if delta_min is not UNSET:
            field_dict["delta_min"] = delta_min
        if entropy_target is not UNSET:
            field_dict["entropy_target"] = entropy_target
        if ema_convention is not UNSET:
            field_dict["ema_convention"] = ema_convention
        if entropy_scale is not UNSET:
            field_dict["entropy_scale"] = entropy_scale
        if alpha_follows is not UNSET:
            field_dict["alpha_follows"] = alpha_follows

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        ema = d.pop("ema", UNSET)

        alpha_max = d.pop("alpha_max", UNSET)

        delta_min = d.pop("delta_min", UNSET)

        def _parse_entropy_target(data: object) -> Auto | float | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                componentsschemas_entropy_target_type_1 = Auto(data)

                return componentsschemas_entropy_target_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Auto | float | Unset, data)

        entropy_target = _parse_entropy_target(d.pop("entropy_target", UNSET))

        _ema_convention = d.pop("ema_convention", UNSET)
        ema_convention: EmaConvention | Unset
        if isinstance(_ema_convention,  Unset):
            ema_convention = UNSET
        else:
            ema_convention = EmaConvention(_ema_convention)

        _entropy_scale = d.pop("entropy_scale", UNSET)
        entropy_scale: EntropyScale | Unset
        if isinstance(_entropy_scale,  Unset):
            entropy_scale = UNSET
        else:
            entropy_scale = EntropyScale(_entropy_scale)

        _alpha_follows = d.pop("alpha_follows", UNSET)
        alpha_follows: AlphaFollows | Unset
        if isinstance(_alpha_follows,  Unset):
            alpha_follows = UNSET
        else:
            alpha_follows = AlphaFollows(_alpha_follows)

        fade_schedule = cls(
            ema=ema,
            alpha_max=alpha_max,
            delta_min=delta_min,
            entropy_target=entropy_target,
            ema_convention=ema_convention,
            entropy_scale=entropy_scale,
            alpha_follows=alpha_follows,
        )

        return fade_schedule
