from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.precision import Precision
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.dataset_spec import DatasetSpec
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

T = TypeVar("T", bound="RolloutSetSpec")

@_attrs_define
class RolloutSetSpec:
    """ Sampling and scoring without training: what `POST /v1/rollout-sets` takes and, with every default filled in, what
    a worker runs.

        Attributes:
            model (str): The model to sample from, as in a job.
            dataset (DatasetSpec): Which rows are used and how they become prompts.
            name (None | str | Unset): A name for people; need not be unique.
            verifier (None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints |
                VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema |
                VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric |
                VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity): A stored
                verifier (`vf_...`) or an inline one.
            sampling (SamplingSpec | Unset): How completions are sampled.
            group_size (int | Unset): Completions per prompt. Default: 8.
            prompts (int | Unset): Prompts; rows are drawn in random order, each once before any comes again. Default: 128.
            precision (Precision | Unset): What the factors of matrix products are rounded to.

                - `bf16`: bf16 with sums in f32; about twice as fast on processors with AVX512-BF16.
            resources (ResourceSpec | Unset): What a job runs on.
            priority (int | Unset): Of a project's jobs those with a higher priority are claimed first. Default: 0.
            seed (int | Unset): The root of every random choice. Default: 0.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
            regrade_of (None | str | Unset): The set whose completions are scored again, instead of sampling any; only `POST
                /v1/rollout-sets/{id}/regrade`
                sets it.
     """

    model: str
    dataset: DatasetSpec
    name: None | str | Unset = UNSET
    verifier: None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity = UNSET
    sampling: SamplingSpec | Unset = UNSET
    group_size: int | Unset = 8
    prompts: int | Unset = 128
    precision: Precision | Unset = UNSET
    resources: ResourceSpec | Unset = UNSET
    priority: int | Unset = 0
    seed: int | Unset = 0
    metadata: Metadata | Unset = UNSET
    regrade_of: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.dataset_spec import DatasetSpec # noqa: PLC0415
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

        dataset = self.dataset.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        verifier: dict[str, Any] | None | str | Unset
        if isinstance(self.verifier, Unset):
            verifier = UNSET
        elif isinstance(self.verifier, VerifierCode):
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

        sampling: dict[str, Any] | Unset = UNSET
        if not isinstance(self.sampling, Unset):
            sampling = self.sampling.to_dict()

        group_size = self.group_size

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

        regrade_of: None | str | Unset
        if isinstance(self.regrade_of, Unset):
            regrade_of = UNSET
        else:
            regrade_of = self.regrade_of

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "model": model,
            "dataset": dataset,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if verifier is not UNSET:
            field_dict["verifier"] = verifier
        if sampling is not UNSET:
            field_dict["sampling"] = sampling
        if group_size is not UNSET:
            field_dict["group_size"] = group_size
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
        if regrade_of is not UNSET:
            field_dict["regrade_of"] = regrade_of

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dataset_spec import DatasetSpec # noqa: PLC0415
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

        dataset = DatasetSpec.from_dict(d.pop("dataset"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_verifier(data: object) -> None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
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
            return cast(None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity, data)

        verifier = _parse_verifier(d.pop("verifier", UNSET))

        _sampling = d.pop("sampling", UNSET)
        sampling: SamplingSpec | Unset
        if isinstance(_sampling,  Unset):
            sampling = UNSET
        else:
            sampling = SamplingSpec.from_dict(_sampling)

        group_size = d.pop("group_size", UNSET)

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

        def _parse_regrade_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        regrade_of = _parse_regrade_of(d.pop("regrade_of", UNSET))

        rollout_set_spec = cls(
            model=model,
            dataset=dataset,
            name=name,
            verifier=verifier,
            sampling=sampling,
            group_size=group_size,
            prompts=prompts,
            precision=precision,
            resources=resources,
            priority=priority,
            seed=seed,
            metadata=metadata,
            regrade_of=regrade_of,
        )

        return rollout_set_spec
