from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.metadata import Metadata
  from ..models.stream_options import StreamOptions

T = TypeVar("T", bound="CompletionRequest")

@_attrs_define
class CompletionRequest:
    """ Prompts to go on with.

        Attributes:
            model (str): A model (`mdl_...`, `builtin:arith-tiny`) or a finished checkpoint (`ckpt_...`, or `ft:JOB` by its
                job).
            prompt (list[int] | list[list[int]] | list[str] | str): One prompt, or several.
            max_tokens (int | None | Unset): The longest completion in tokens; without it what fits into the context, up to
                256. 0 only with `echo`.
            temperature (float | None | Unset): 0 is greedy; 1, the default, samples the model's own distribution.
            top_p (float | None | Unset): Keep the smallest set of tokens with at least this much probability; 1, the
                default, keeps all.
            n (int | None | Unset): Completions to make of each prompt.
            stop (list[str] | None | str | Unset): Up to 4 texts that end a completion and are left out of it.
            seed (int | None | Unset): Equal requests with equal seeds have equal answers.
            logprobs (int | None | Unset): Give the log-probability of every token, under the distribution it was drawn from
                (at temperature 0 under the
                model's own), and those of so many of the most probable tokens in its place. In a stream these come with the end
                of
                their choice, and the prompt and `max_tokens` are 8192 tokens together at most.
            echo (bool | None | Unset): Begin each choice with its prompt. With `logprobs` its tokens have theirs too, under
                the model's own distribution (null for the first,
                which nothing predicts), and the token that ends the choice is there.
            stream (bool | None | Unset): Answer with server-sent events.
            stream_options (None | StreamOptions | Unset):
            user (None | str | Unset): Taken and not used.
            metadata (Metadata | None | Unset): Taken and not used: up to 16 pairs.
     """

    model: str
    prompt: list[int] | list[list[int]] | list[str] | str
    max_tokens: int | None | Unset = UNSET
    temperature: float | None | Unset = UNSET
    top_p: float | None | Unset = UNSET
    n: int | None | Unset = UNSET
    stop: list[str] | None | str | Unset = UNSET
    seed: int | None | Unset = UNSET
    logprobs: int | None | Unset = UNSET
    echo: bool | None | Unset = UNSET
    stream: bool | None | Unset = UNSET
    stream_options: None | StreamOptions | Unset = UNSET
    user: None | str | Unset = UNSET
    metadata: Metadata | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.stream_options import StreamOptions # noqa: PLC0415
        model = self.model

        prompt: list[int] | list[list[int]] | list[str] | str
        if isinstance(self.prompt, list):
            prompt = self.prompt

        elif isinstance(self.prompt, list):
            prompt = self.prompt

        elif isinstance(self.prompt, list):
            prompt = []
            for componentsschemas_prompts_type_2_item_data in self.prompt:
                componentsschemas_prompts_type_2_item = componentsschemas_prompts_type_2_item_data

                prompt.append(componentsschemas_prompts_type_2_item)

        else:
            prompt = self.prompt

        max_tokens: int | None | Unset
        if isinstance(self.max_tokens, Unset):
            max_tokens = UNSET
        else:
            max_tokens = self.max_tokens

        temperature: float | None | Unset
        if isinstance(self.temperature, Unset):
            temperature = UNSET
        else:
            temperature = self.temperature

        top_p: float | None | Unset
        if isinstance(self.top_p, Unset):
            top_p = UNSET
        else:
            top_p = self.top_p

        n: int | None | Unset
        if isinstance(self.n, Unset):
            n = UNSET
        else:
            n = self.n

        stop: list[str] | None | str | Unset
        if isinstance(self.stop, Unset):
            stop = UNSET
        elif isinstance(self.stop, list):
            stop = self.stop

        else:
            stop = self.stop

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        logprobs: int | None | Unset
        if isinstance(self.logprobs, Unset):
            logprobs = UNSET
        else:
            logprobs = self.logprobs

        echo: bool | None | Unset
        if isinstance(self.echo, Unset):
            echo = UNSET
        else:
            echo = self.echo

        stream: bool | None | Unset
        if isinstance(self.stream, Unset):
            stream = UNSET
        else:
            stream = self.stream

        stream_options: dict[str, Any] | None | Unset
        if isinstance(self.stream_options, Unset):
            stream_options = UNSET
        elif isinstance(self.stream_options, StreamOptions):
            stream_options = self.stream_options.to_dict()
        else:
            stream_options = self.stream_options

        user: None | str | Unset
        if isinstance(self.user, Unset):
            user = UNSET
        else:
            user = self.user

        metadata: dict[str, Any] | None | Unset
        if isinstance(self.metadata, Unset):
            metadata = UNSET
        elif isinstance(self.metadata, Metadata):
            metadata = self.metadata.to_dict()
        else:
            metadata = self.metadata

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "model": model,
            "prompt": prompt,
        })
        if max_tokens is not UNSET:
            field_dict["max_tokens"] = max_tokens
        if temperature is not UNSET:
            field_dict["temperature"] = temperature
        if top_p is not UNSET:
            field_dict["top_p"] = top_p
        if n is not UNSET:
            field_dict["n"] = n
        if stop is not UNSET:
            field_dict["stop"] = stop
        if seed is not UNSET:
            field_dict["seed"] = seed
        if logprobs is not UNSET:
            field_dict["logprobs"] = logprobs
        if echo is not UNSET:
            field_dict["echo"] = echo
        if stream is not UNSET:
            field_dict["stream"] = stream
        if stream_options is not UNSET:
            field_dict["stream_options"] = stream_options
        if user is not UNSET:
            field_dict["user"] = user
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.stream_options import StreamOptions # noqa: PLC0415
        d = dict(src_dict)
        model = d.pop("model")

        def _parse_prompt(data: object) -> list[int] | list[list[int]] | list[str] | str:
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_texts_type_1 = cast(list[str], data)

                return componentsschemas_texts_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_prompts_type_1 = cast(list[int], data)

                return componentsschemas_prompts_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_prompts_type_2 = []
                _componentsschemas_prompts_type_2 = data
                for componentsschemas_prompts_type_2_item_data in (_componentsschemas_prompts_type_2):
                    componentsschemas_prompts_type_2_item = cast(list[int], componentsschemas_prompts_type_2_item_data)

                    componentsschemas_prompts_type_2.append(componentsschemas_prompts_type_2_item)

                return componentsschemas_prompts_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | list[list[int]] | list[str] | str, data)

        prompt = _parse_prompt(d.pop("prompt"))

        def _parse_max_tokens(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_tokens = _parse_max_tokens(d.pop("max_tokens", UNSET))

        def _parse_temperature(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        temperature = _parse_temperature(d.pop("temperature", UNSET))

        def _parse_top_p(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        top_p = _parse_top_p(d.pop("top_p", UNSET))

        def _parse_n(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        n = _parse_n(d.pop("n", UNSET))

        def _parse_stop(data: object) -> list[str] | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_texts_type_1 = cast(list[str], data)

                return componentsschemas_texts_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | str | Unset, data)

        stop = _parse_stop(d.pop("stop", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_logprobs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        logprobs = _parse_logprobs(d.pop("logprobs", UNSET))

        def _parse_echo(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        echo = _parse_echo(d.pop("echo", UNSET))

        def _parse_stream(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        stream = _parse_stream(d.pop("stream", UNSET))

        def _parse_stream_options(data: object) -> None | StreamOptions | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                stream_options_type_0 = StreamOptions.from_dict(data)

                return stream_options_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | StreamOptions | Unset, data)

        stream_options = _parse_stream_options(d.pop("stream_options", UNSET))

        def _parse_user(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        user = _parse_user(d.pop("user", UNSET))

        def _parse_metadata(data: object) -> Metadata | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                metadata_type_0 = Metadata.from_dict(data)

                return metadata_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Metadata | None | Unset, data)

        metadata = _parse_metadata(d.pop("metadata", UNSET))

        completion_request = cls(
            model=model,
            prompt=prompt,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            n=n,
            stop=stop,
            seed=seed,
            logprobs=logprobs,
            echo=echo,
            stream=stream,
            stream_options=stream_options,
            user=user,
            metadata=metadata,
        )

        return completion_request
