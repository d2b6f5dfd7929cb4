""" Contains all the data models used in inputs/outputs """

from .advantage_asym import AdvantageAsym
from .advantage_asym_settings import AdvantageAsymSettings
from .advantage_fade import AdvantageFade
from .advantage_pass_at_k import AdvantagePassAtK
from .advantage_pass_at_k_settings import AdvantagePassAtKSettings
from .advantage_power import AdvantagePower
from .advantage_power_settings import AdvantagePowerSettings
from .advantage_weighted import AdvantageWeighted
from .advantage_weighted_settings import AdvantageWeightedSettings
from .auto import Auto
from .candidate_device import CandidateDevice
from .checkpoint import Checkpoint
from .checkpoint_file import CheckpointFile
from .checkpoint_kind import CheckpointKind
from .checkpoint_list import CheckpointList
from .checkpoint_spec import CheckpointSpec
from .create_verifier import CreateVerifier
from .dataset import Dataset
from .dataset_columns import DatasetColumns
from .dataset_list import DatasetList
from .dataset_spec import DatasetSpec
from .dataset_version import DatasetVersion
from .device import Device
from .device_list import DeviceList
from .device_process import DeviceProcess
from .device_status import DeviceStatus
from .dry_run import DryRun
from .ema_convention import EmaConvention
from .entropy_scale import EntropyScale
from .eval_spec import EvalSpec
from .event_level import EventLevel
from .field_problem import FieldProblem
from .frontier_answer import FrontierAnswer
from .frontier_coverage import FrontierCoverage
from .frontier_request import FrontierRequest
from .frontier_row import FrontierRow
from .health import Health
from .import_model import ImportModel
from .job import Job
from .job_event import JobEvent
from .job_event_list import JobEventList
from .job_failure import JobFailure
from .job_failure_kind import JobFailureKind
from .job_kind import JobKind
from .job_list import JobList
from .job_metrics import JobMetrics
from .job_phase import JobPhase
from .job_spec import JobSpec
from .job_status import JobStatus
from .job_waiting import JobWaiting
from .json_object import JsonObject
from .learning_rate_schedule import LearningRateSchedule
from .list_order import ListOrder
from .manifest import Manifest
from .metadata import Metadata
from .metric_description import MetricDescription
from .metric_description_list import MetricDescriptionList
from .metric_series import MetricSeries
from .metrics_format import MetricsFormat
from .mix_spec import MixSpec
from .model import Model
from .model_list import ModelList
from .objective import Objective
from .objective_bolt import ObjectiveBolt
from .objective_bolt_normalization import ObjectiveBoltNormalization
from .objective_bolt_reference import ObjectiveBoltReference
from .objective_bolt_zero_spread import ObjectiveBoltZeroSpread
from .objective_fade import ObjectiveFade
from .objective_grpo import ObjectiveGrpo
from .objective_grpo_scale import ObjectiveGrpoScale
from .objective_list import ObjectiveList
from .objective_needs import ObjectiveNeeds
from .objective_p3o import ObjectiveP3O
from .objective_p3o_ess_scope import ObjectiveP3OEssScope
from .objective_policy_gradient import ObjectivePolicyGradient
from .objective_policy_gradient_correction import ObjectivePolicyGradientCorrection
from .objective_sft import ObjectiveSft
from .objective_sft_source import ObjectiveSftSource
from .objective_vopd import ObjectiveVopd
from .objective_vopd_baseline_top_k import ObjectiveVopdBaselineTopK
from .objective_vopd_estimator import ObjectiveVopdEstimator
from .optimizer_spec import OptimizerSpec
from .precision import Precision
from .preflight import Preflight
from .preflight_memory import PreflightMemory
from .preflight_plan import PreflightPlan
from .preflight_rows import PreflightRows
from .preflight_warning import PreflightWarning
from .problem import Problem
from .problem_error import ProblemError
from .prompt_format import PromptFormat
from .queue import Queue
from .queue_counts import QueueCounts
from .queued_job import QueuedJob
from .resource_spec import ResourceSpec
from .rollout import Rollout
from .rollout_list import RolloutList
from .rollout_set import RolloutSet
from .rollout_set_list import RolloutSetList
from .rollout_set_spec import RolloutSetSpec
from .rollout_set_status import RolloutSetStatus
from .rollout_set_summary import RolloutSetSummary
from .rollout_spec import RolloutSpec
from .sampling_spec import SamplingSpec
from .train_spec import TrainSpec
from .verifier import Verifier
from .verifier_exact import VerifierExact
from .verifier_exact_extract import VerifierExactExtract
from .verifier_list import VerifierList
from .verifier_numeric import VerifierNumeric
from .verifier_numeric_extract import VerifierNumericExtract
from .verifier_numeric_percent import VerifierNumericPercent
from .verifier_regex import VerifierRegex
from .verifier_regex_must import VerifierRegexMust
from .weight_dtype import WeightDtype

__all__ = (
    "AdvantageAsym",
    "AdvantageAsymSettings",
    "AdvantageFade",
    "AdvantagePassAtK",
    "AdvantagePassAtKSettings",
    "AdvantagePower",
    "AdvantagePowerSettings",
    "AdvantageWeighted",
    "AdvantageWeightedSettings",
    "Auto",
    "CandidateDevice",
    "Checkpoint",
    "CheckpointFile",
    "CheckpointKind",
    "CheckpointList",
    "CheckpointSpec",
    "CreateVerifier",
    "Dataset",
    "DatasetColumns",
    "DatasetList",
    "DatasetSpec",
    "DatasetVersion",
    "Device",
    "DeviceList",
    "DeviceProcess",
    "DeviceStatus",
    "DryRun",
    "EmaConvention",
    "EntropyScale",
    "EvalSpec",
    "EventLevel",
    "FieldProblem",
    "FrontierAnswer",
    "FrontierCoverage",
    "FrontierRequest",
    "FrontierRow",
    "Health",
    "ImportModel",
    "Job",
    "JobEvent",
    "JobEventList",
    "JobFailure",
    "JobFailureKind",
    "JobKind",
    "JobList",
    "JobMetrics",
    "JobPhase",
    "JobSpec",
    "JobStatus",
    "JobWaiting",
    "JsonObject",
    "LearningRateSchedule",
    "ListOrder",
    "Manifest",
    "Metadata",
    "MetricDescription",
    "MetricDescriptionList",
    "MetricSeries",
    "MetricsFormat",
    "MixSpec",
    "Model",
    "ModelList",
    "Objective",
    "ObjectiveBolt",
    "ObjectiveBoltNormalization",
    "ObjectiveBoltReference",
    "ObjectiveBoltZeroSpread",
    "ObjectiveFade",
    "ObjectiveGrpo",
    "ObjectiveGrpoScale",
    "ObjectiveList",
    "ObjectiveNeeds",
    "ObjectiveP3O",
    "ObjectiveP3OEssScope",
    "ObjectivePolicyGradient",
    "ObjectivePolicyGradientCorrection",
    "ObjectiveSft",
    "ObjectiveSftSource",
    "ObjectiveVopd",
    "ObjectiveVopdBaselineTopK",
    "ObjectiveVopdEstimator",
    "OptimizerSpec",
    "Precision",
    "Preflight",
    "PreflightMemory",
    "PreflightPlan",
    "PreflightRows",
    "PreflightWarning",
    "Problem",
    "ProblemError",
    "PromptFormat",
    "Queue",
    "QueueCounts",
    "QueuedJob",
    "ResourceSpec",
    "Rollout",
    "RolloutList",
    "RolloutSet",
    "RolloutSetList",
    "RolloutSetSpec",
    "RolloutSetStatus",
    "RolloutSetSummary",
    "RolloutSpec",
    "SamplingSpec",
    "TrainSpec",
    "Verifier",
    "VerifierExact",
    "VerifierExactExtract",
    "VerifierList",
    "VerifierNumeric",
    "VerifierNumericExtract",
    "VerifierNumericPercent",
    "VerifierRegex",
    "VerifierRegexMust",
    "WeightDtype",
)
