from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.sampled_weights import SampledWeights
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.environment_spec import EnvironmentSpec

T = TypeVar("T", bound="SamplingSpec")

@_attrs_define
class SamplingSpec:
    """ How completions are sampled.

        Attributes:
            temperature (float | Unset): 0 is greedy; 1 samples the model's own distribution. Default: 1.0.
            top_p (float | Unset): Keep the smallest set of tokens with at least this much probability; 1 keeps all.
                Default: 1.0.
            top_k (int | Unset): Keep the k most probable tokens; 0 keeps all. Default: 0.
            max_new_tokens (int | Unset): The longest completion in tokens. Default: 256.
            stop (list[str] | Unset): Texts that end a completion, besides the model's end-of-sequence tokens.
            batch_size (int | Unset): Completions sampled at the same time. Default: 64.
            weights (None | SampledWeights | Unset): Sample with a copy of the weights of fewer bits, and products in bf16:
                faster, and another distribution than the one
                that is trained. The log-probabilities that are kept are those that tokens were really drawn with; `p3o` and
                other
                objectives with a correction weigh them against the policy's, others warn. On the CPU only; a GPU samples with
                the
                weights that are trained. Evaluations within a job always take these.
            cache (Literal['bf16'] | None | Unset): Keep keys and values of completions under way in fewer bits than what is
                trained: half the memory and less to read
                for each token, and another distribution, as with `weights`. Attention widens them and computes in f32. A GPU
                with
                `train.precision: "bf16"` keeps them so in any case. Evaluations within a job never do.
            environment (EnvironmentSpec | None | Unset): What answers the model when a turn of it ends, so that completions
                have several turns (docs/environments.md).
     """

    temperature: float | Unset = 1.0
    top_p: float | Unset = 1.0
    top_k: int | Unset = 0
    max_new_tokens: int | Unset = 256
    stop: list[str] | Unset = UNSET
    batch_size: int | Unset = 64
    weights: None | SampledWeights | Unset = UNSET
    cache: Literal['bf16'] | None | Unset = UNSET
    environment: EnvironmentSpec | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.environment_spec import EnvironmentSpec # noqa: PLC0415
        temperature = self.temperature

        top_p = self.top_p

        top_k = self.top_k

        max_new_tokens = self.max_new_tokens

        stop: list[str] | Unset = UNSET
        if not isinstance(self.stop, Unset):
            stop = self.stop

        batch_size = self.batch_size

        weights: None | str | Unset
        if isinstance(self.weights, Unset):
            weights = UNSET
        elif isinstance(self.weights, SampledWeights):
            weights = self.weights.value
        else:
            weights = self.weights

        cache: Literal['bf16'] | None | Unset
        if isinstance(self.cache, Unset):
            cache = UNSET
        else:
            cache = self.cache

        environment: dict[str, Any] | None | Unset
        if isinstance(self.environment, Unset):
            environment = UNSET
        elif isinstance(self.environment, EnvironmentSpec):
            environment = self.environment.to_dict()
        else:
            environment = self.environment

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if temperature is not UNSET:
            field_dict["temperature"] = temperature
        if top_p is not UNSET:
            field_dict["top_p"] = top_p
        if top_k is not UNSET:
            field_dict["top_k"] = top_k
        if max_new_tokens is not UNSET:
            field_dict["max_new_tokens"] = max_new_tokens
        if stop is not UNSET:
            field_dict["stop"] = stop
        if batch_size is not UNSET:
            field_dict["batch_size"] = batch_size
        if weights is not UNSET:
            field_dict["weights"] = weights
        if cache is not UNSET:
            field_dict["cache"] = cache
        if environment is not UNSET:
            field_dict["environment"] = environment

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.environment_spec import EnvironmentSpec # noqa: PLC0415
        d = dict(src_dict)
        temperature = d.pop("temperature", UNSET)

        top_p = d.pop("top_p", UNSET)

        top_k = d.pop("top_k", UNSET)

        max_new_tokens = d.pop("max_new_tokens", UNSET)

        stop = cast(list[str], d.pop("stop", UNSET))

        batch_size = d.pop("batch_size", UNSET)

        def _parse_weights(data: object) -> None | SampledWeights | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                weights_type_0 = SampledWeights(data)

                return weights_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SampledWeights | Unset, data)

        weights = _parse_weights(d.pop("weights", UNSET))

        def _parse_cache(data: object) -> Literal['bf16'] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            cache_type_0 = cast(Literal['bf16'] , data)
            if cache_type_0 != 'bf16':
                raise ValueError(f"cache_type_0 must match const 'bf16', got '{cache_type_0}'")
            return cache_type_0
            return cast(Literal['bf16'] | None | Unset, data)

        cache = _parse_cache(d.pop("cache", UNSET))

        def _parse_environment(data: object) -> EnvironmentSpec | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                environment_type_0 = EnvironmentSpec.from_dict(data)

                return environment_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EnvironmentSpec | None | Unset, data)

        environment = _parse_environment(d.pop("environment", UNSET))

        sampling_spec = cls(
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            max_new_tokens=max_new_tokens,
            stop=stop,
            batch_size=batch_size,
            weights=weights,
            cache=cache,
            environment=environment,
        )

        return sampling_spec
