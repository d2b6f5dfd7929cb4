from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.evaluation_split import EvaluationSplit
from ..models.precision import Precision
from ..models.prompt_format import PromptFormat
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.metadata import Metadata
  from ..models.resource_spec import ResourceSpec
  from ..models.sampling_spec import SamplingSpec
  from ..models.verifier_choice import VerifierChoice
  from ..models.verifier_code import VerifierCode
  from ..models.verifier_command import VerifierCommand
  from ..models.verifier_constraints import VerifierConstraints
  from ..models.verifier_environment import VerifierEnvironment
  from ..models.verifier_exact import VerifierExact
  from ..models.verifier_expression import VerifierExpression
  from ..models.verifier_http import VerifierHttp
  from ..models.verifier_json import VerifierJson
  from ..models.verifier_json_schema import VerifierJsonSchema
  from ..models.verifier_length import VerifierLength
  from ..models.verifier_math import VerifierMath
  from ..models.verifier_model import VerifierModel
  from ..models.verifier_multi import VerifierMulti
  from ..models.verifier_multiple_choice import VerifierMultipleChoice
  from ..models.verifier_numeric import VerifierNumeric
  from ..models.verifier_regex import VerifierRegex
  from ..models.verifier_repetition import VerifierRepetition
  from ..models.verifier_sql import VerifierSql
  from ..models.verifier_string_check import VerifierStringCheck
  from ..models.verifier_text_similarity import VerifierTextSimilarity

T = TypeVar("T", bound="EvaluationSpec")

@_attrs_define
class EvaluationSpec:
    """ Measuring a model without training it: what `POST /v1/evaluations` takes and, with every default filled in, what a
    worker runs.

        Attributes:
            model (str): The model to measure, as in a job: `hf:owner/name`, `mdl_...`, an inference checkpoint `ckpt_...`,
                or a built-in.
            dataset (str): The held-out rows: a data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-
                in.
            verifier (str | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment |
                VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength |
                VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex |
                VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity): A stored verifier (`vf_...`)
                or an inline one.
            name (None | str | Unset): A name for people; need not be unique.
            split (EvaluationSplit | None | Unset): The part of a data set that is split, as built-ins are; `eval` by
                default. Others have no parts.
            format_ (PromptFormat | Unset): How a row's prompt becomes text for the model.

                - `auto`: `chat` when the model has a chat template, otherwise `text`.
                - `chat`: Through the model's chat template, as one user message (or the row's `messages`).
                - `text`: As it stands.
            system (None | str | Unset): A system message put before every prompt (chat format only).
            template (None | str | Unset): Text around a plain prompt; `{prompt}` stands for the row's prompt.
            chat_template (None | str | Unset): A chat template in Jinja to use in the place of the model's own.
            thinking (bool | None | Unset): Have the model reason before it answers, or not, where its chat template knows
                both (`enable_thinking`). With
                true, verifiers judge what follows the last `</think>` of a completion, and nothing where there is none. By
                default true for such a template, and nothing for others.
            max_prompt_tokens (int | None | Unset): The longest prompt in tokens; a longer one is an error. By default what
                leaves room in the model's context. With
                `sampling.max_new_tokens` it makes the longest sequence, from which rotary positions that depend on length
                (`dynamic`, `longrope`) are chosen.
            sampling (SamplingSpec | Unset): How completions are sampled.
            samples (int | Unset): Completions per prompt. Default: 8.
            pass_at (list[int] | None | Unset): The k of pass@k; none may exceed `samples`. By default 1 and `samples`.
            prompts (int | Unset): Rows to use, from the first on. Default: 200.
            precision (Precision | Unset): What the factors of matrix products are rounded to.

                - `bf16`: bf16 with sums in f32; about twice as fast on processors with AVX512-BF16.
            resources (ResourceSpec | Unset): What a job runs on.
            priority (int | Unset): Of a project's jobs those with a higher priority are claimed first. Default: 0.
            seed (int | Unset): The root of every random choice. With the same seed, two models draw with the same random
                numbers. Default: 0.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    model: str
    dataset: str
    verifier: str | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity
    name: None | str | Unset = UNSET
    split: EvaluationSplit | None | Unset = UNSET
    format_: PromptFormat | Unset = UNSET
    system: None | str | Unset = UNSET
    template: None | str | Unset = UNSET
    chat_template: None | str | Unset = UNSET
    thinking: bool | None | Unset = UNSET
    max_prompt_tokens: int | None | Unset = UNSET
    sampling: SamplingSpec | Unset = UNSET
    samples: int | Unset = 8
    pass_at: list[int] | None | Unset = UNSET
    prompts: int | Unset = 200
    precision: Precision | Unset = UNSET
    resources: ResourceSpec | Unset = UNSET
    priority: int | Unset = 0
    seed: int | Unset = 0
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.resource_spec import ResourceSpec # noqa: PLC0415
        from ..models.sampling_spec import SamplingSpec # noqa: PLC0415
        from ..models.verifier_choice import VerifierChoice # noqa: PLC0415
        from ..models.verifier_code import VerifierCode # noqa: PLC0415
        from ..models.verifier_command import VerifierCommand # noqa: PLC0415
        from ..models.verifier_constraints import VerifierConstraints # noqa: PLC0415
        from ..models.verifier_environment import VerifierEnvironment # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_expression import VerifierExpression # noqa: PLC0415
        from ..models.verifier_http import VerifierHttp # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_json_schema import VerifierJsonSchema # noqa: PLC0415
        from ..models.verifier_length import VerifierLength # noqa: PLC0415
        from ..models.verifier_math import VerifierMath # noqa: PLC0415
        from ..models.verifier_model import VerifierModel # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_multiple_choice import VerifierMultipleChoice # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_repetition import VerifierRepetition # noqa: PLC0415
        from ..models.verifier_sql import VerifierSql # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        model = self.model

        dataset = self.dataset

        verifier: dict[str, Any] | str
        if isinstance(self.verifier, VerifierCode):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierCommand):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierExact):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierExpression):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierChoice):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierMultipleChoice):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierMath):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierHttp):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierModel):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierNumeric):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierRegex):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierJson):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierJsonSchema):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierSql):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierConstraints):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierLength):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierRepetition):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierEnvironment):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierStringCheck):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierTextSimilarity):
            verifier = self.verifier.to_dict()
        elif isinstance(self.verifier, VerifierMulti):
            verifier = self.verifier.to_dict()
        else:
            verifier = self.verifier

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        split: None | str | Unset
        if isinstance(self.split, Unset):
            split = UNSET
        elif isinstance(self.split, EvaluationSplit):
            split = self.split.value
        else:
            split = self.split

        format_: str | Unset = UNSET
        if not isinstance(self.format_, Unset):
            format_ = self.format_.value

        system: None | str | Unset
        if isinstance(self.system, Unset):
            system = UNSET
        else:
            system = self.system

        template: None | str | Unset
        if isinstance(self.template, Unset):
            template = UNSET
        else:
            template = self.template

        chat_template: None | str | Unset
        if isinstance(self.chat_template, Unset):
            chat_template = UNSET
        else:
            chat_template = self.chat_template

        thinking: bool | None | Unset
        if isinstance(self.thinking, Unset):
            thinking = UNSET
        else:
            thinking = self.thinking

        max_prompt_tokens: int | None | Unset
        if isinstance(self.max_prompt_tokens, Unset):
            max_prompt_tokens = UNSET
        else:
            max_prompt_tokens = self.max_prompt_tokens

        sampling: dict[str, Any] | Unset = UNSET
        if not isinstance(self.sampling, Unset):
            sampling = self.sampling.to_dict()

        samples = self.samples

        pass_at: list[int] | None | Unset
        if isinstance(self.pass_at, Unset):
            pass_at = UNSET
        elif isinstance(self.pass_at, list):
            pass_at = self.pass_at

        else:
            pass_at = self.pass_at

        prompts = self.prompts

        precision: str | Unset = UNSET
        if not isinstance(self.precision, Unset):
            precision = self.precision.value

        resources: dict[str, Any] | Unset = UNSET
        if not isinstance(self.resources, Unset):
            resources = self.resources.to_dict()

        priority = self.priority

        seed = self.seed

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "model": model,
            "dataset": dataset,
            "verifier": verifier,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if split is not UNSET:
            field_dict["split"] = split
        if format_ is not UNSET:
            field_dict["format"] = format_
        if system is not UNSET:
            field_dict["system"] = system
        if template is not UNSET:
            field_dict["template"] = template
        if chat_template is not UNSET:
            field_dict["chat_template"] = chat_template
        if thinking is not UNSET:
            field_dict["thinking"] = thinking
        if max_prompt_tokens is not UNSET:
            field_dict["max_prompt_tokens"] = max_prompt_tokens
        if sampling is not UNSET:
            field_dict["sampling"] = sampling
        if samples is not UNSET:
            field_dict["samples"] = samples
        if pass_at is not UNSET:
            field_dict["pass_at"] = pass_at
        if prompts is not UNSET:
            field_dict["prompts"] = prompts
        if precision is not UNSET:
            field_dict["precision"] = precision
        if resources is not UNSET:
            field_dict["resources"] = resources
        if priority is not UNSET:
            field_dict["priority"] = priority
        if seed is not UNSET:
            field_dict["seed"] = seed
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.resource_spec import ResourceSpec # noqa: PLC0415
        from ..models.sampling_spec import SamplingSpec # noqa: PLC0415
        from ..models.verifier_choice import VerifierChoice # noqa: PLC0415
        from ..models.verifier_code import VerifierCode # noqa: PLC0415
        from ..models.verifier_command import VerifierCommand # noqa: PLC0415
        from ..models.verifier_constraints import VerifierConstraints # noqa: PLC0415
        from ..models.verifier_environment import VerifierEnvironment # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_expression import VerifierExpression # noqa: PLC0415
        from ..models.verifier_http import VerifierHttp # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_json_schema import VerifierJsonSchema # noqa: PLC0415
        from ..models.verifier_length import VerifierLength # noqa: PLC0415
        from ..models.verifier_math import VerifierMath # noqa: PLC0415
        from ..models.verifier_model import VerifierModel # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_multiple_choice import VerifierMultipleChoice # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_repetition import VerifierRepetition # noqa: PLC0415
        from ..models.verifier_sql import VerifierSql # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        d = dict(src_dict)
        model = d.pop("model")

        dataset = d.pop("dataset")

        def _parse_verifier(data: object) -> str | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_0 = VerifierCode.from_dict(data)

                return componentsschemas_verifier_spec_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_1 = VerifierCommand.from_dict(data)

                return componentsschemas_verifier_spec_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_2 = VerifierExact.from_dict(data)

                return componentsschemas_verifier_spec_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_3 = VerifierExpression.from_dict(data)

                return componentsschemas_verifier_spec_type_3
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_4 = VerifierChoice.from_dict(data)

                return componentsschemas_verifier_spec_type_4
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_5 = VerifierMultipleChoice.from_dict(data)

                return componentsschemas_verifier_spec_type_5
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_6 = VerifierMath.from_dict(data)

                return componentsschemas_verifier_spec_type_6
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_7 = VerifierHttp.from_dict(data)

                return componentsschemas_verifier_spec_type_7
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_8 = VerifierModel.from_dict(data)

                return componentsschemas_verifier_spec_type_8
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_9 = VerifierNumeric.from_dict(data)

                return componentsschemas_verifier_spec_type_9
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_10 = VerifierRegex.from_dict(data)

                return componentsschemas_verifier_spec_type_10
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_11 = VerifierJson.from_dict(data)

                return componentsschemas_verifier_spec_type_11
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_12 = VerifierJsonSchema.from_dict(data)

                return componentsschemas_verifier_spec_type_12
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_13 = VerifierSql.from_dict(data)

                return componentsschemas_verifier_spec_type_13
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_14 = VerifierConstraints.from_dict(data)

                return componentsschemas_verifier_spec_type_14
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_15 = VerifierLength.from_dict(data)

                return componentsschemas_verifier_spec_type_15
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_16 = VerifierRepetition.from_dict(data)

                return componentsschemas_verifier_spec_type_16
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_17 = VerifierEnvironment.from_dict(data)

                return componentsschemas_verifier_spec_type_17
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_18 = VerifierStringCheck.from_dict(data)

                return componentsschemas_verifier_spec_type_18
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_19 = VerifierTextSimilarity.from_dict(data)

                return componentsschemas_verifier_spec_type_19
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_20 = VerifierMulti.from_dict(data)

                return componentsschemas_verifier_spec_type_20
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(str | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity, data)

        verifier = _parse_verifier(d.pop("verifier"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_split(data: object) -> EvaluationSplit | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                split_type_0 = EvaluationSplit(data)

                return split_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EvaluationSplit | None | Unset, data)

        split = _parse_split(d.pop("split", UNSET))

        _format_ = d.pop("format", UNSET)
        format_: PromptFormat | Unset
        if isinstance(_format_,  Unset):
            format_ = UNSET
        else:
            format_ = PromptFormat(_format_)

        def _parse_system(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        system = _parse_system(d.pop("system", UNSET))

        def _parse_template(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        template = _parse_template(d.pop("template", UNSET))

        def _parse_chat_template(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        chat_template = _parse_chat_template(d.pop("chat_template", UNSET))

        def _parse_thinking(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        thinking = _parse_thinking(d.pop("thinking", UNSET))

        def _parse_max_prompt_tokens(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_prompt_tokens = _parse_max_prompt_tokens(d.pop("max_prompt_tokens", UNSET))

        _sampling = d.pop("sampling", UNSET)
        sampling: SamplingSpec | Unset
        if isinstance(_sampling,  Unset):
            sampling = UNSET
        else:
            sampling = SamplingSpec.from_dict(_sampling)

        samples = d.pop("samples", UNSET)

        def _parse_pass_at(data: object) -> list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                pass_at_type_0 = cast(list[int], data)

                return pass_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None | Unset, data)

        pass_at = _parse_pass_at(d.pop("pass_at", UNSET))

        prompts = d.pop("prompts", UNSET)

        _precision = d.pop("precision", UNSET)
        precision: Precision | Unset
        if isinstance(_precision,  Unset):
            precision = UNSET
        else:
            precision = Precision(_precision)

        _resources = d.pop("resources", UNSET)
        resources: ResourceSpec | Unset
        if isinstance(_resources,  Unset):
            resources = UNSET
        else:
            resources = ResourceSpec.from_dict(_resources)

        priority = d.pop("priority", UNSET)

        seed = d.pop("seed", UNSET)

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        evaluation_spec = cls(
            model=model,
            dataset=dataset,
            verifier=verifier,
            name=name,
            split=split,
            format_=format_,
            system=system,
            template=template,
            chat_template=chat_template,
            thinking=thinking,
            max_prompt_tokens=max_prompt_tokens,
            sampling=sampling,
            samples=samples,
            pass_at=pass_at,
            prompts=prompts,
            precision=precision,
            resources=resources,
            priority=priority,
            seed=seed,
            metadata=metadata,
        )

        return evaluation_spec
