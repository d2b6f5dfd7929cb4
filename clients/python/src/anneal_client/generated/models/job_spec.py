from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.adapter_spec import AdapterSpec
  from ..models.budget_spec import BudgetSpec
  from ..models.checkpoint_spec import CheckpointSpec
  from ..models.dataset_spec import DatasetSpec
  from ..models.eval_spec import EvalSpec
  from ..models.gate_spec import GateSpec
  from ..models.metadata import Metadata
  from ..models.objective_bolt import ObjectiveBolt
  from ..models.objective_fade import ObjectiveFade
  from ..models.objective_grpo import ObjectiveGrpo
  from ..models.objective_p3o import ObjectiveP3O
  from ..models.objective_policy_gradient import ObjectivePolicyGradient
  from ..models.objective_sft import ObjectiveSft
  from ..models.objective_vopd import ObjectiveVopd
  from ..models.optimizer_spec import OptimizerSpec
  from ..models.resource_spec import ResourceSpec
  from ..models.rollout_spec import RolloutSpec
  from ..models.sampling_spec import SamplingSpec
  from ..models.train_spec import TrainSpec
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

T = TypeVar("T", bound="JobSpec")

@_attrs_define
class JobSpec:
    """ A training job.

        Attributes:
            model (str): The model to start from: one of the hub (`hf:owner/name`, also with `@revision` or `/file.gguf`),
                an imported one
                (`mdl_...` or its name), an inference checkpoint of an earlier job (`ckpt_...`, `ft:JOB`) or a built-in
                (`builtin:arith-tiny`, `builtin:arith-scratch`, `builtin:arith-small-scratch`).
            dataset (DatasetSpec): Which rows are used and how they become prompts.
            objective (ObjectiveBolt | ObjectiveFade | ObjectiveGrpo | ObjectiveP3O | ObjectivePolicyGradient | ObjectiveSft
                | ObjectiveVopd): What is optimised; `type` says by which rule.
            name (None | str | Unset): A name for people; need not be unique.
            verifier (None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints |
                VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema |
                VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric |
                VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity): A stored
                verifier (`vf_...`) or an inline one.
            require_audit (bool | Unset): Refuse the job unless the last audit of the verifier on the training rows has
                found it trusted.
            adapter (AdapterSpec | None | Unset): Train an adapter beside the frozen model, in the place of all its weights
                (`null`).
            sampling (SamplingSpec | Unset): How completions are sampled.
            optimizer (OptimizerSpec | Unset): How weights follow their gradients, and the learning-rate schedule.
            train (TrainSpec | Unset): How much is trained.
            rollouts (RolloutSpec | Unset): Stored completions: kept for later, or used instead of sampling.
            eval_ (EvalSpec | Unset): How held-out accuracy is measured.
            checkpoints (CheckpointSpec | Unset): What is kept on the way and how the result is written.
            resources (ResourceSpec | Unset): What a job runs on.
            budget (BudgetSpec | None | Unset): What the job may use of the devices; without it there is no limit.
            gate (GateSpec | None | Unset): What the finished model must reach; `result.gate` says whether it does.
            priority (int | Unset): Of a project's jobs those with a higher priority are claimed first; equal ones in the
                order of submission. Default: 0.
            seed (int | Unset): The root of every random choice of the job. Default: 0.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    model: str
    dataset: DatasetSpec
    objective: ObjectiveBolt | ObjectiveFade | ObjectiveGrpo | ObjectiveP3O | ObjectivePolicyGradient | ObjectiveSft | ObjectiveVopd
    name: None | str | Unset = UNSET
    verifier: None | str | Unset | VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity = UNSET
    require_audit: bool | Unset = UNSET
    adapter: AdapterSpec | None | Unset = UNSET
    sampling: SamplingSpec | Unset = UNSET
    optimizer: OptimizerSpec | Unset = UNSET
    train: TrainSpec | Unset = UNSET
    rollouts: RolloutSpec | Unset = UNSET
    eval_: EvalSpec | Unset = UNSET
    checkpoints: CheckpointSpec | Unset = UNSET
    resources: ResourceSpec | Unset = UNSET
    budget: BudgetSpec | None | Unset = UNSET
    gate: GateSpec | None | Unset = UNSET
    priority: int | Unset = 0
    seed: int | Unset = 0
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.adapter_spec import AdapterSpec # noqa: PLC0415
        from ..models.budget_spec import BudgetSpec # noqa: PLC0415
        from ..models.checkpoint_spec import CheckpointSpec # noqa: PLC0415
        from ..models.dataset_spec import DatasetSpec # noqa: PLC0415
        from ..models.eval_spec import EvalSpec # noqa: PLC0415
        from ..models.gate_spec import GateSpec # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.objective_bolt import ObjectiveBolt # noqa: PLC0415
        from ..models.objective_fade import ObjectiveFade # noqa: PLC0415
        from ..models.objective_grpo import ObjectiveGrpo # noqa: PLC0415
        from ..models.objective_p3o import ObjectiveP3O # noqa: PLC0415
        from ..models.objective_policy_gradient import ObjectivePolicyGradient # noqa: PLC0415
        from ..models.objective_sft import ObjectiveSft # noqa: PLC0415
        from ..models.objective_vopd import ObjectiveVopd # noqa: PLC0415
        from ..models.optimizer_spec import OptimizerSpec # noqa: PLC0415
        from ..models.resource_spec import ResourceSpec # noqa: PLC0415
        from ..models.rollout_spec import RolloutSpec # noqa: PLC0415
        from ..models.sampling_spec import SamplingSpec # noqa: PLC0415
        from ..models.train_spec import TrainSpec # noqa: PLC0415
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

        objective: dict[str, Any]
        if isinstance(self.objective, ObjectiveSft):
            objective = self.objective.to_dict()
        elif isinstance(self.objective, ObjectiveBolt):
            objective = self.objective.to_dict()
        elif isinstance(self.objective, ObjectiveP3O):
            objective = self.objective.to_dict()
        elif isinstance(self.objective, ObjectiveVopd):
            objective = self.objective.to_dict()
        elif isinstance(self.objective, ObjectiveFade):
            objective = self.objective.to_dict()
        elif isinstance(self.objective, ObjectiveGrpo):
            objective = self.objective.to_dict()
        else:
            objective = self.objective.to_dict()

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

        require_audit = self.require_audit

        adapter: dict[str, Any] | None | Unset
        if isinstance(self.adapter, Unset):
            adapter = UNSET
        elif isinstance(self.adapter, AdapterSpec):
            adapter = self.adapter.to_dict()
        else:
            adapter = self.adapter

        sampling: dict[str, Any] | Unset = UNSET
        if not isinstance(self.sampling, Unset):
            sampling = self.sampling.to_dict()

        optimizer: dict[str, Any] | Unset = UNSET
        if not isinstance(self.optimizer, Unset):
            optimizer = self.optimizer.to_dict()

        train: dict[str, Any] | Unset = UNSET
        if not isinstance(self.train, Unset):
            train = self.train.to_dict()

        rollouts: dict[str, Any] | Unset = UNSET
        if not isinstance(self.rollouts, Unset):
            rollouts = self.rollouts.to_dict()

        eval_: dict[str, Any] | Unset = UNSET
        if not isinstance(self.eval_, Unset):
            eval_ = self.eval_.to_dict()

        checkpoints: dict[str, Any] | Unset = UNSET
        if not isinstance(self.checkpoints, Unset):
            checkpoints = self.checkpoints.to_dict()

        resources: dict[str, Any] | Unset = UNSET
        if not isinstance(self.resources, Unset):
            resources = self.resources.to_dict()

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, BudgetSpec):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        gate: dict[str, Any] | None | Unset
        if isinstance(self.gate, Unset):
            gate = UNSET
        elif isinstance(self.gate, GateSpec):
            gate = self.gate.to_dict()
        else:
            gate = self.gate

        priority = self.priority

        seed = self.seed

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "model": model,
            "dataset": dataset,
            "objective": objective,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if verifier is not UNSET:
            field_dict["verifier"] = verifier
        if require_audit is not UNSET:
            field_dict["require_audit"] = require_audit
        if adapter is not UNSET:
            field_dict["adapter"] = adapter
        if sampling is not UNSET:
            field_dict["sampling"] = sampling
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if train is not UNSET:
            field_dict["train"] = train
        if rollouts is not UNSET:
            field_dict["rollouts"] = rollouts
        if eval_ is not UNSET:
            field_dict["eval"] = eval_
        if checkpoints is not UNSET:
            field_dict["checkpoints"] = checkpoints
        if resources is not UNSET:
            field_dict["resources"] = resources
        if budget is not UNSET:
            field_dict["budget"] = budget
        if gate is not UNSET:
            field_dict["gate"] = gate
        if priority is not UNSET:
            field_dict["priority"] = priority
        if seed is not UNSET:
            field_dict["seed"] = seed
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.adapter_spec import AdapterSpec # noqa: PLC0415
        from ..models.budget_spec import BudgetSpec # noqa: PLC0415
        from ..models.checkpoint_spec import CheckpointSpec # noqa: PLC0415
        from ..models.dataset_spec import DatasetSpec # noqa: PLC0415
        from ..models.eval_spec import EvalSpec # noqa: PLC0415
        from ..models.gate_spec import GateSpec # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.objective_bolt import ObjectiveBolt # noqa: PLC0415
        from ..models.objective_fade import ObjectiveFade # noqa: PLC0415
        from ..models.objective_grpo import ObjectiveGrpo # noqa: PLC0415
        from ..models.objective_p3o import ObjectiveP3O # noqa: PLC0415
        from ..models.objective_policy_gradient import ObjectivePolicyGradient # noqa: PLC0415
        from ..models.objective_sft import ObjectiveSft # noqa: PLC0415
        from ..models.objective_vopd import ObjectiveVopd # noqa: PLC0415
        from ..models.optimizer_spec import OptimizerSpec # noqa: PLC0415
        from ..models.resource_spec import ResourceSpec # noqa: PLC0415
        from ..models.rollout_spec import RolloutSpec # noqa: PLC0415
        from ..models.sampling_spec import SamplingSpec # noqa: PLC0415
        from ..models.train_spec import TrainSpec # noqa: PLC0415
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

        def _parse_objective(data: object) -> ObjectiveBolt | ObjectiveFade | ObjectiveGrpo | ObjectiveP3O | ObjectivePolicyGradient | ObjectiveSft | ObjectiveVopd:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_0 = ObjectiveSft.from_dict(data)

                return componentsschemas_objective_spec_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_1 = ObjectiveBolt.from_dict(data)

                return componentsschemas_objective_spec_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_2 = ObjectiveP3O.from_dict(data)

                return componentsschemas_objective_spec_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_3 = ObjectiveVopd.from_dict(data)

                return componentsschemas_objective_spec_type_3
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_4 = ObjectiveFade.from_dict(data)

                return componentsschemas_objective_spec_type_4
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_objective_spec_type_5 = ObjectiveGrpo.from_dict(data)

                return componentsschemas_objective_spec_type_5
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_objective_spec_type_6 = ObjectivePolicyGradient.from_dict(data)

            return componentsschemas_objective_spec_type_6

        objective = _parse_objective(d.pop("objective"))

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

        require_audit = d.pop("require_audit", UNSET)

        def _parse_adapter(data: object) -> AdapterSpec | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                adapter_type_0 = AdapterSpec.from_dict(data)

                return adapter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AdapterSpec | None | Unset, data)

        adapter = _parse_adapter(d.pop("adapter", UNSET))

        _sampling = d.pop("sampling", UNSET)
        sampling: SamplingSpec | Unset
        if isinstance(_sampling,  Unset):
            sampling = UNSET
        else:
            sampling = SamplingSpec.from_dict(_sampling)

        _optimizer = d.pop("optimizer", UNSET)
        optimizer: OptimizerSpec | Unset
        if isinstance(_optimizer,  Unset):
            optimizer = UNSET
        else:
            optimizer = OptimizerSpec.from_dict(_optimizer)

        _train = d.pop("train", UNSET)
        train: TrainSpec | Unset
        if isinstance(_train,  Unset):
            train = UNSET
        else:
            train = TrainSpec.from_dict(_train)

        _rollouts = d.pop("rollouts", UNSET)
        rollouts: RolloutSpec | Unset
        if isinstance(_rollouts,  Unset):
            rollouts = UNSET
        else:
            rollouts = RolloutSpec.from_dict(_rollouts)

        _eval_ = d.pop("eval", UNSET)
        eval_: EvalSpec | Unset
        if isinstance(_eval_,  Unset):
            eval_ = UNSET
        else:
            eval_ = EvalSpec.from_dict(_eval_)

        _checkpoints = d.pop("checkpoints", UNSET)
        checkpoints: CheckpointSpec | Unset
        if isinstance(_checkpoints,  Unset):
            checkpoints = UNSET
        else:
            checkpoints = CheckpointSpec.from_dict(_checkpoints)

        _resources = d.pop("resources", UNSET)
        resources: ResourceSpec | Unset
        if isinstance(_resources,  Unset):
            resources = UNSET
        else:
            resources = ResourceSpec.from_dict(_resources)

        def _parse_budget(data: object) -> BudgetSpec | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                budget_type_0 = BudgetSpec.from_dict(data)

                return budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BudgetSpec | None | Unset, data)

        budget = _parse_budget(d.pop("budget", UNSET))

        def _parse_gate(data: object) -> GateSpec | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gate_type_0 = GateSpec.from_dict(data)

                return gate_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GateSpec | None | Unset, data)

        gate = _parse_gate(d.pop("gate", UNSET))

        priority = d.pop("priority", UNSET)

        seed = d.pop("seed", UNSET)

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        job_spec = cls(
            model=model,
            dataset=dataset,
            objective=objective,
            name=name,
            verifier=verifier,
            require_audit=require_audit,
            adapter=adapter,
            sampling=sampling,
            optimizer=optimizer,
            train=train,
            rollouts=rollouts,
            eval_=eval_,
            checkpoints=checkpoints,
            resources=resources,
            budget=budget,
            gate=gate,
            priority=priority,
            seed=seed,
            metadata=metadata,
        )

        return job_spec
