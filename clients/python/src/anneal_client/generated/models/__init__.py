""" Contains all the data models used in inputs/outputs """

from .adapter_init import AdapterInit
from .adapter_spec import AdapterSpec
from .adapter_type import AdapterType
from .advantage_asym import AdvantageAsym
from .advantage_asym_settings import AdvantageAsymSettings
from .advantage_fade import AdvantageFade
from .advantage_focal import AdvantageFocal
from .advantage_focal_settings import AdvantageFocalSettings
from .advantage_log_mean_exp import AdvantageLogMeanExp
from .advantage_log_mean_exp_settings import AdvantageLogMeanExpSettings
from .advantage_pass_at_k import AdvantagePassAtK
from .advantage_pass_at_k_settings import AdvantagePassAtKSettings
from .advantage_power import AdvantagePower
from .advantage_power_settings import AdvantagePowerSettings
from .advantage_weighted import AdvantageWeighted
from .advantage_weighted_settings import AdvantageWeightedSettings
from .advice_answer import AdviceAnswer
from .advice_measured import AdviceMeasured
from .advice_reason import AdviceReason
from .advice_request import AdviceRequest
from .advice_setting import AdviceSetting
from .advice_suggestion import AdviceSuggestion
from .aggregation_constant import AggregationConstant
from .all_linear import AllLinear
from .alpha_follows import AlphaFollows
from .answer import Answer
from .answerer import Answerer
from .api_key import ApiKey
from .api_key_list import ApiKeyList
from .artifact_report import ArtifactReport
from .assignment import Assignment
from .assistant_message import AssistantMessage
from .attempt import Attempt
from .attempt_end import AttemptEnd
from .attempt_list import AttemptList
from .attempt_outcome import AttemptOutcome
from .audit_entry import AuditEntry
from .audit_entry_list import AuditEntryList
from .audit_example import AuditExample
from .audit_latency import AuditLatency
from .audit_probe import AuditProbe
from .audit_reason import AuditReason
from .audit_verifier import AuditVerifier
from .auto import Auto
from .breakdown_group import BreakdownGroup
from .bucket import Bucket
from .budget_spec import BudgetSpec
from .builtin_dataset import BuiltinDataset
from .builtin_dataset_list import BuiltinDatasetList
from .builtin_row import BuiltinRow
from .call import Call
from .call_replies import CallReplies
from .candidate_device import CandidateDevice
from .chat_choice import ChatChoice
from .chat_completion import ChatCompletion
from .chat_completion_chunk import ChatCompletionChunk
from .chat_content_part import ChatContentPart
from .chat_content_part_type import ChatContentPartType
from .chat_delta import ChatDelta
from .chat_logprobs import ChatLogprobs
from .chat_message import ChatMessage
from .chat_request import ChatRequest
from .check_dataset import CheckDataset
from .checkpoint import Checkpoint
from .checkpoint_added import CheckpointAdded
from .checkpoint_event import CheckpointEvent
from .checkpoint_file import CheckpointFile
from .checkpoint_kind import CheckpointKind
from .checkpoint_list import CheckpointList
from .checkpoint_metrics import CheckpointMetrics
from .checkpoint_spec import CheckpointSpec
from .chosen_hyperparameters import ChosenHyperparameters
from .claim_request import ClaimRequest
from .column import Column
from .compare_evaluations import CompareEvaluations
from .complete_upload import CompleteUpload
from .completion import Completion
from .completion_choice import CompletionChoice
from .completion_logprobs import CompletionLogprobs
from .completion_logprobs_top_logprobs_type_0_item_type_0 import CompletionLogprobsTopLogprobsType0ItemType0
from .completion_request import CompletionRequest
from .create_api_key import CreateApiKey
from .create_direct_part import CreateDirectPart
from .create_export import CreateExport
from .create_file import CreateFile
from .create_fine_tuning_job import CreateFineTuningJob
from .create_fine_tuning_job_integrations_type_0_item import CreateFineTuningJobIntegrationsType0Item
from .create_part import CreatePart
from .create_session import CreateSession
from .create_suite import CreateSuite
from .create_suite_run import CreateSuiteRun
from .create_suite_sets_item import CreateSuiteSetsItem
from .create_sweep import CreateSweep
from .create_upload import CreateUpload
from .create_verifier import CreateVerifier
from .create_webhook_endpoint import CreateWebhookEndpoint
from .dataset import Dataset
from .dataset_check import DatasetCheck
from .dataset_columns import DatasetColumns
from .dataset_dry_run import DatasetDryRun
from .dataset_list import DatasetList
from .dataset_preview import DatasetPreview
from .dataset_pull import DatasetPull
from .dataset_pull_list import DatasetPullList
from .dataset_row import DatasetRow
from .dataset_row_list import DatasetRowList
from .dataset_spec import DatasetSpec
from .dataset_split import DatasetSplit
from .dataset_version import DatasetVersion
from .dataset_version_list import DatasetVersionList
from .deleted import Deleted
from .delivery_attempt import DeliveryAttempt
from .delta import Delta
from .device import Device
from .device_list import DeviceList
from .device_process import DeviceProcess
from .device_reading import DeviceReading
from .device_report import DeviceReport
from .device_state import DeviceState
from .device_status import DeviceStatus
from .device_word import DeviceWord
from .diagnosis import Diagnosis
from .diagnosis_code import DiagnosisCode
from .diagnosis_evidence import DiagnosisEvidence
from .diagnosis_list import DiagnosisList
from .diagnosis_suggestion import DiagnosisSuggestion
from .diagnosis_suggestion_patch_item import DiagnosisSuggestionPatchItem
from .direct_part import DirectPart
from .dry_run import DryRun
from .duplicate_rows import DuplicateRows
from .duplicates_found import DuplicatesFound
from .ema_convention import EmaConvention
from .entropy_scale import EntropyScale
from .environment_kind import EnvironmentKind
from .environment_spec import EnvironmentSpec
from .eval_spec import EvalSpec
from .evaluation import Evaluation
from .evaluation_breakdown import EvaluationBreakdown
from .evaluation_comparison import EvaluationComparison
from .evaluation_completion import EvaluationCompletion
from .evaluation_event import EvaluationEvent
from .evaluation_found import EvaluationFound
from .evaluation_list import EvaluationList
from .evaluation_prompt import EvaluationPrompt
from .evaluation_prompt_list import EvaluationPromptList
from .evaluation_result import EvaluationResult
from .evaluation_spec import EvaluationSpec
from .evaluation_split import EvaluationSplit
from .event_batch import EventBatch
from .event_level import EventLevel
from .expires_after import ExpiresAfter
from .export import Export
from .export_failure import ExportFailure
from .export_form import ExportForm
from .export_list import ExportList
from .export_numbers import ExportNumbers
from .export_push import ExportPush
from .export_status import ExportStatus
from .fade_schedule import FadeSchedule
from .field_problem import FieldProblem
from .file_list import FileList
from .file_object import FileObject
from .file_object_list import FileObjectList
from .filter_dataset import FilterDataset
from .fine_tuning_checkpoint import FineTuningCheckpoint
from .fine_tuning_checkpoint_list import FineTuningCheckpointList
from .fine_tuning_error import FineTuningError
from .fine_tuning_event import FineTuningEvent
from .fine_tuning_event_list import FineTuningEventList
from .fine_tuning_job import FineTuningJob
from .fine_tuning_job_list import FineTuningJobList
from .flip import Flip
from .flips import Flips
from .fork_control import ForkControl
from .fork_difference import ForkDifference
from .fork_job import ForkJob
from .fork_job_patch_item import ForkJobPatchItem
from .frontier_answer import FrontierAnswer
from .frontier_coverage import FrontierCoverage
from .frontier_request import FrontierRequest
from .frontier_row import FrontierRow
from .gate import Gate
from .gate_spec import GateSpec
from .get_checkpoint_provenance_response_200 import GetCheckpointProvenanceResponse200
from .get_export_provenance_response_200 import GetExportProvenanceResponse200
from .grader_body import GraderBody
from .grader_errors import GraderErrors
from .grader_metadata import GraderMetadata
from .grader_metadata_scores import GraderMetadataScores
from .grader_run import GraderRun
from .grader_run_sub_rewards import GraderRunSubRewards
from .health import Health
from .held_lease import HeldLease
from .histogram import Histogram
from .host import Host
from .host_list import HostList
from .host_registration import HostRegistration
from .import_model import ImportModel
from .import_model_files_type_0 import ImportModelFilesType0
from .job import Job
from .job_event_list import JobEventList
from .job_expected_end import JobExpectedEnd
from .job_failure import JobFailure
from .job_failure_kind import JobFailureKind
from .job_kind import JobKind
from .job_list import JobList
from .job_metrics import JobMetrics
from .job_phase import JobPhase
from .job_progress import JobProgress
from .job_rollout import JobRollout
from .job_rollout_list import JobRolloutList
from .job_spec import JobSpec
from .job_status import JobStatus
from .job_tables import JobTables
from .job_waiting import JobWaiting
from .json_object import JsonObject
from .judge_rollouts import JudgeRollouts
from .judged import Judged
from .judged_rollout import JudgedRollout
from .last_metric import LastMetric
from .launch import Launch
from .launch_list import LaunchList
from .leakage import Leakage
from .leakage_found import LeakageFound
from .leaked_ngrams import LeakedNgrams
from .leaked_row import LeakedRow
from .leaked_rows import LeakedRows
from .learning_rate_schedule import LearningRateSchedule
from .limits import Limits
from .list_order import ListOrder
from .listed_file import ListedFile
from .log_details import LogDetails
from .log_event import LogEvent
from .manifest import Manifest
from .masters import Masters
from .member_verdict import MemberVerdict
from .metadata import Metadata
from .metric_description import MetricDescription
from .metric_description_list import MetricDescriptionList
from .metric_series import MetricSeries
from .metric_tables import MetricTables
from .metrics_event import MetricsEvent
from .metrics_format import MetricsFormat
from .mix_spec import MixSpec
from .mlflow_artifacts import MlflowArtifacts
from .mlflow_experiment import MlflowExperiment
from .mlflow_experiment_found import MlflowExperimentFound
from .mlflow_experiments import MlflowExperiments
from .mlflow_file import MlflowFile
from .mlflow_history import MlflowHistory
from .mlflow_metric import MlflowMetric
from .mlflow_pair import MlflowPair
from .mlflow_run import MlflowRun
from .mlflow_run_data import MlflowRunData
from .mlflow_run_found import MlflowRunFound
from .mlflow_run_info import MlflowRunInfo
from .mlflow_runs import MlflowRuns
from .model import Model
from .model_failure import ModelFailure
from .model_list import ModelList
from .model_warning import ModelWarning
from .moment_state import MomentState
from .new_artifact_report import NewArtifactReport
from .objective import Objective
from .objective_bolt import ObjectiveBolt
from .objective_bolt_normalization import ObjectiveBoltNormalization
from .objective_bolt_reference import ObjectiveBoltReference
from .objective_bolt_weights_threshold import ObjectiveBoltWeightsThreshold
from .objective_bolt_zero_spread import ObjectiveBoltZeroSpread
from .objective_fade import ObjectiveFade
from .objective_grpo import ObjectiveGrpo
from .objective_grpo_scale import ObjectiveGrpoScale
from .objective_list import ObjectiveList
from .objective_needs import ObjectiveNeeds
from .objective_p3o import ObjectiveP3O
from .objective_p3o_ess_scope import ObjectiveP3OEssScope
from .objective_p3o_kl_estimator import ObjectiveP3OKlEstimator
from .objective_paper import ObjectivePaper
from .objective_policy_gradient import ObjectivePolicyGradient
from .objective_policy_gradient_correction import ObjectivePolicyGradientCorrection
from .objective_policy_gradient_ratio import ObjectivePolicyGradientRatio
from .objective_preset import ObjectivePreset
from .objective_sft import ObjectiveSft
from .objective_sft_source import ObjectiveSftSource
from .objective_vopd import ObjectiveVopd
from .objective_vopd_baseline_top_k import ObjectiveVopdBaselineTopK
from .objective_vopd_estimator import ObjectiveVopdEstimator
from .on_exhausted import OnExhausted
from .optimizer_kind import OptimizerKind
from .optimizer_spec import OptimizerSpec
from .pass_rate import PassRate
from .pass_rate_range import PassRateRange
from .phase_change import PhaseChange
from .phase_event import PhaseEvent
from .phase_progress import PhaseProgress
from .precision import Precision
from .preflight import Preflight
from .preflight_memory import PreflightMemory
from .preflight_plan import PreflightPlan
from .preflight_rows import PreflightRows
from .preflight_warning import PreflightWarning
from .previewed_row import PreviewedRow
from .problem import Problem
from .problem_error import ProblemError
from .progress_event import ProgressEvent
from .project import Project
from .project_list import ProjectList
from .project_usage import ProjectUsage
from .prompt_format import PromptFormat
from .push_export import PushExport
from .push_status import PushStatus
from .quantize import Quantize
from .question import Question
from .queue import Queue
from .queue_counts import QueueCounts
from .queued_job import QueuedJob
from .received_file import ReceivedFile
from .recommendation import Recommendation
from .recommendation_code import RecommendationCode
from .registered_host import RegisteredHost
from .regrade import Regrade
from .rendezvous import Rendezvous
from .report import Report
from .report_format import ReportFormat
from .reported_checkpoint import ReportedCheckpoint
from .reported_checkpoint_sha_256 import ReportedCheckpointSha256
from .reported_event import ReportedEvent
from .reported_fork import ReportedFork
from .reported_warning import ReportedWarning
from .requeued import Requeued
from .resource_spec import ResourceSpec
from .reward_control import RewardControl
from .role import Role
from .rollout import Rollout
from .rollout_answer import RolloutAnswer
from .rollout_judgement import RolloutJudgement
from .rollout_list import RolloutList
from .rollout_part import RolloutPart
from .rollout_set import RolloutSet
from .rollout_set_added import RolloutSetAdded
from .rollout_set_event import RolloutSetEvent
from .rollout_set_list import RolloutSetList
from .rollout_set_spec import RolloutSetSpec
from .rollout_set_status import RolloutSetStatus
from .rollout_set_summary import RolloutSetSummary
from .rollout_spec import RolloutSpec
from .row_condition import RowCondition
from .row_error import RowError
from .row_order import RowOrder
from .row_prompt import RowPrompt
from .row_prompt_list import RowPromptList
from .row_sampling import RowSampling
from .run_grader import RunGrader
from .sampled_weights import SampledWeights
from .sampling_spec import SamplingSpec
from .search_mlflow_experiments import SearchMlflowExperiments
from .search_mlflow_runs import SearchMlflowRuns
from .server_time import ServerTime
from .session import Session
from .session_link import SessionLink
from .signing_keys_response_200 import SigningKeysResponse200
from .status_change import StatusChange
from .status_event import StatusEvent
from .step_metrics import StepMetrics
from .step_metrics_values import StepMetricsValues
from .stream_options import StreamOptions
from .suite import Suite
from .suite_list import SuiteList
from .suite_run import SuiteRun
from .suite_run_list import SuiteRunList
from .suite_run_of_set import SuiteRunOfSet
from .suite_sets_item import SuiteSetsItem
from .sweep import Sweep
from .sweep_budget import SweepBudget
from .sweep_comparison import SweepComparison
from .sweep_configuration import SweepConfiguration
from .sweep_configuration_patch_type_0_item import SweepConfigurationPatchType0Item
from .sweep_counts import SweepCounts
from .sweep_draws import SweepDraws
from .sweep_halving import SweepHalving
from .sweep_list import SweepList
from .sweep_report import SweepReport
from .sweep_summary import SweepSummary
from .sweep_summary_values import SweepSummaryValues
from .sweep_trial import SweepTrial
from .sweep_variant import SweepVariant
from .sweep_variant_patch_item import SweepVariantPatchItem
from .table import Table
from .test_completion import TestCompletion
from .test_verdict import TestVerdict
from .test_verifier import TestVerifier
from .token_lengths import TokenLengths
from .token_logprob import TokenLogprob
from .top_logprob import TopLogprob
from .train_on import TrainOn
from .train_spec import TrainSpec
from .try_verifier import TryVerifier
from .unique_by import UniqueBy
from .unit import Unit
from .update_job import UpdateJob
from .update_job_metadata_type_0 import UpdateJobMetadataType0
from .update_labels import UpdateLabels
from .update_sweep import UpdateSweep
from .update_webhook_endpoint import UpdateWebhookEndpoint
from .upload import Upload
from .upload_part import UploadPart
from .usage import Usage
from .verdict import Verdict
from .verifier import Verifier
from .verifier_audit import VerifierAudit
from .verifier_choice import VerifierChoice
from .verifier_choice_extract import VerifierChoiceExtract
from .verifier_choice_several import VerifierChoiceSeveral
from .verifier_code import VerifierCode
from .verifier_code_columns import VerifierCodeColumns
from .verifier_code_format import VerifierCodeFormat
from .verifier_code_reward import VerifierCodeReward
from .verifier_command import VerifierCommand
from .verifier_constraints import VerifierConstraints
from .verifier_constraints_instruction_type_0 import VerifierConstraintsInstructionType0
from .verifier_constraints_instruction_type_1 import VerifierConstraintsInstructionType1
from .verifier_constraints_instruction_type_10 import VerifierConstraintsInstructionType10
from .verifier_constraints_instruction_type_11 import VerifierConstraintsInstructionType11
from .verifier_constraints_instruction_type_12 import VerifierConstraintsInstructionType12
from .verifier_constraints_instruction_type_13 import VerifierConstraintsInstructionType13
from .verifier_constraints_instruction_type_14 import VerifierConstraintsInstructionType14
from .verifier_constraints_instruction_type_15 import VerifierConstraintsInstructionType15
from .verifier_constraints_instruction_type_16 import VerifierConstraintsInstructionType16
from .verifier_constraints_instruction_type_17 import VerifierConstraintsInstructionType17
from .verifier_constraints_instruction_type_18 import VerifierConstraintsInstructionType18
from .verifier_constraints_instruction_type_19 import VerifierConstraintsInstructionType19
from .verifier_constraints_instruction_type_2 import VerifierConstraintsInstructionType2
from .verifier_constraints_instruction_type_20 import VerifierConstraintsInstructionType20
from .verifier_constraints_instruction_type_21 import VerifierConstraintsInstructionType21
from .verifier_constraints_instruction_type_22 import VerifierConstraintsInstructionType22
from .verifier_constraints_instruction_type_23 import VerifierConstraintsInstructionType23
from .verifier_constraints_instruction_type_24 import VerifierConstraintsInstructionType24
from .verifier_constraints_instruction_type_3 import VerifierConstraintsInstructionType3
from .verifier_constraints_instruction_type_4 import VerifierConstraintsInstructionType4
from .verifier_constraints_instruction_type_5 import VerifierConstraintsInstructionType5
from .verifier_constraints_instruction_type_6 import VerifierConstraintsInstructionType6
from .verifier_constraints_instruction_type_7 import VerifierConstraintsInstructionType7
from .verifier_constraints_instruction_type_8 import VerifierConstraintsInstructionType8
from .verifier_constraints_instruction_type_9 import VerifierConstraintsInstructionType9
from .verifier_constraints_relation import VerifierConstraintsRelation
from .verifier_constraints_reward import VerifierConstraintsReward
from .verifier_environment import VerifierEnvironment
from .verifier_environment_take import VerifierEnvironmentTake
from .verifier_exact import VerifierExact
from .verifier_exact_extract import VerifierExactExtract
from .verifier_expression import VerifierExpression
from .verifier_expression_extract import VerifierExpressionExtract
from .verifier_expression_uses import VerifierExpressionUses
from .verifier_http import VerifierHttp
from .verifier_json import VerifierJson
from .verifier_json_extract import VerifierJsonExtract
from .verifier_json_schema import VerifierJsonSchema
from .verifier_json_schema_extract import VerifierJsonSchemaExtract
from .verifier_length import VerifierLength
from .verifier_length_rule import VerifierLengthRule
from .verifier_list import VerifierList
from .verifier_math import VerifierMath
from .verifier_math_place import VerifierMathPlace
from .verifier_math_writing import VerifierMathWriting
from .verifier_model import VerifierModel
from .verifier_model_mode import VerifierModelMode
from .verifier_multi import VerifierMulti
from .verifier_multi_combine import VerifierMultiCombine
from .verifier_multi_gates import VerifierMultiGates
from .verifier_multi_graders import VerifierMultiGraders
from .verifier_multi_graders_additional_property import VerifierMultiGradersAdditionalProperty
from .verifier_multi_weights import VerifierMultiWeights
from .verifier_multiple_choice import VerifierMultipleChoice
from .verifier_multiple_choice_answer import VerifierMultipleChoiceAnswer
from .verifier_multiple_choice_extract import VerifierMultipleChoiceExtract
from .verifier_numeric import VerifierNumeric
from .verifier_numeric_extract import VerifierNumericExtract
from .verifier_numeric_percent import VerifierNumericPercent
from .verifier_regex import VerifierRegex
from .verifier_regex_must import VerifierRegexMust
from .verifier_repetition import VerifierRepetition
from .verifier_sql import VerifierSql
from .verifier_sql_expected import VerifierSqlExpected
from .verifier_sql_order import VerifierSqlOrder
from .verifier_string_check import VerifierStringCheck
from .verifier_string_check_operation import VerifierStringCheckOperation
from .verifier_test import VerifierTest
from .verifier_text_similarity import VerifierTextSimilarity
from .verifier_text_similarity_metric import VerifierTextSimilarityMetric
from .webhook_delivery import WebhookDelivery
from .webhook_delivery_list import WebhookDeliveryList
from .webhook_endpoint import WebhookEndpoint
from .webhook_endpoint_list import WebhookEndpointList
from .webhook_job import WebhookJob
from .webhook_message import WebhookMessage
from .webhook_message_data import WebhookMessageData
from .weight_dtype import WeightDtype
from .word import Word
from .worker_beat import WorkerBeat
from .worker_end import WorkerEnd
from .worker_registration import WorkerRegistration

__all__ = (
    "AdapterInit",
    "AdapterSpec",
    "AdapterType",
    "AdvantageAsym",
    "AdvantageAsymSettings",
    "AdvantageFade",
    "AdvantageFocal",
    "AdvantageFocalSettings",
    "AdvantageLogMeanExp",
    "AdvantageLogMeanExpSettings",
    "AdvantagePassAtK",
    "AdvantagePassAtKSettings",
    "AdvantagePower",
    "AdvantagePowerSettings",
    "AdvantageWeighted",
    "AdvantageWeightedSettings",
    "AdviceAnswer",
    "AdviceMeasured",
    "AdviceReason",
    "AdviceRequest",
    "AdviceSetting",
    "AdviceSuggestion",
    "AggregationConstant",
    "AllLinear",
    "AlphaFollows",
    "Answer",
    "Answerer",
    "ApiKey",
    "ApiKeyList",
    "ArtifactReport",
    "Assignment",
    "AssistantMessage",
    "Attempt",
    "AttemptEnd",
    "AttemptList",
    "AttemptOutcome",
    "AuditEntry",
    "AuditEntryList",
    "AuditExample",
    "AuditLatency",
    "AuditProbe",
    "AuditReason",
    "AuditVerifier",
    "Auto",
    "BreakdownGroup",
    "Bucket",
    "BudgetSpec",
    "BuiltinDataset",
    "BuiltinDatasetList",
    "BuiltinRow",
    "Call",
    "CallReplies",
    "CandidateDevice",
    "ChatChoice",
    "ChatCompletion",
    "ChatCompletionChunk",
    "ChatContentPart",
    "ChatContentPartType",
    "ChatDelta",
    "ChatLogprobs",
    "ChatMessage",
    "ChatRequest",
    "CheckDataset",
    "Checkpoint",
    "CheckpointAdded",
    "CheckpointEvent",
    "CheckpointFile",
    "CheckpointKind",
    "CheckpointList",
    "CheckpointMetrics",
    "CheckpointSpec",
    "ChosenHyperparameters",
    "ClaimRequest",
    "Column",
    "CompareEvaluations",
    "CompleteUpload",
    "Completion",
    "CompletionChoice",
    "CompletionLogprobs",
    "CompletionLogprobsTopLogprobsType0ItemType0",
    "CompletionRequest",
    "CreateApiKey",
    "CreateDirectPart",
    "CreateExport",
    "CreateFile",
    "CreateFineTuningJob",
    "CreateFineTuningJobIntegrationsType0Item",
    "CreatePart",
    "CreateSession",
    "CreateSuite",
    "CreateSuiteRun",
    "CreateSuiteSetsItem",
    "CreateSweep",
    "CreateUpload",
    "CreateVerifier",
    "CreateWebhookEndpoint",
    "Dataset",
    "DatasetCheck",
    "DatasetColumns",
    "DatasetDryRun",
    "DatasetList",
    "DatasetPreview",
    "DatasetPull",
    "DatasetPullList",
    "DatasetRow",
    "DatasetRowList",
    "DatasetSpec",
    "DatasetSplit",
    "DatasetVersion",
    "DatasetVersionList",
    "Deleted",
    "DeliveryAttempt",
    "Delta",
    "Device",
    "DeviceList",
    "DeviceProcess",
    "DeviceReading",
    "DeviceReport",
    "DeviceState",
    "DeviceStatus",
    "DeviceWord",
    "Diagnosis",
    "DiagnosisCode",
    "DiagnosisEvidence",
    "DiagnosisList",
    "DiagnosisSuggestion",
    "DiagnosisSuggestionPatchItem",
    "DirectPart",
    "DryRun",
    "DuplicateRows",
    "DuplicatesFound",
    "EmaConvention",
    "EntropyScale",
    "EnvironmentKind",
    "EnvironmentSpec",
    "EvalSpec",
    "Evaluation",
    "EvaluationBreakdown",
    "EvaluationComparison",
    "EvaluationCompletion",
    "EvaluationEvent",
    "EvaluationFound",
    "EvaluationList",
    "EvaluationPrompt",
    "EvaluationPromptList",
    "EvaluationResult",
    "EvaluationSpec",
    "EvaluationSplit",
    "EventBatch",
    "EventLevel",
    "ExpiresAfter",
    "Export",
    "ExportFailure",
    "ExportForm",
    "ExportList",
    "ExportNumbers",
    "ExportPush",
    "ExportStatus",
    "FadeSchedule",
    "FieldProblem",
    "FileList",
    "FileObject",
    "FileObjectList",
    "FilterDataset",
    "FineTuningCheckpoint",
    "FineTuningCheckpointList",
    "FineTuningError",
    "FineTuningEvent",
    "FineTuningEventList",
    "FineTuningJob",
    "FineTuningJobList",
    "Flip",
    "Flips",
    "ForkControl",
    "ForkDifference",
    "ForkJob",
    "ForkJobPatchItem",
    "FrontierAnswer",
    "FrontierCoverage",
    "FrontierRequest",
    "FrontierRow",
    "Gate",
    "GateSpec",
    "GetCheckpointProvenanceResponse200",
    "GetExportProvenanceResponse200",
    "GraderBody",
    "GraderErrors",
    "GraderMetadata",
    "GraderMetadataScores",
    "GraderRun",
    "GraderRunSubRewards",
    "Health",
    "HeldLease",
    "Histogram",
    "Host",
    "HostList",
    "HostRegistration",
    "ImportModel",
    "ImportModelFilesType0",
    "Job",
    "JobEventList",
    "JobExpectedEnd",
    "JobFailure",
    "JobFailureKind",
    "JobKind",
    "JobList",
    "JobMetrics",
    "JobPhase",
    "JobProgress",
    "JobRollout",
    "JobRolloutList",
    "JobSpec",
    "JobStatus",
    "JobTables",
    "JobWaiting",
    "JsonObject",
    "Judged",
    "JudgedRollout",
    "JudgeRollouts",
    "LastMetric",
    "Launch",
    "LaunchList",
    "Leakage",
    "LeakageFound",
    "LeakedNgrams",
    "LeakedRow",
    "LeakedRows",
    "LearningRateSchedule",
    "Limits",
    "ListedFile",
    "ListOrder",
    "LogDetails",
    "LogEvent",
    "Manifest",
    "Masters",
    "MemberVerdict",
    "Metadata",
    "MetricDescription",
    "MetricDescriptionList",
    "MetricSeries",
    "MetricsEvent",
    "MetricsFormat",
    "MetricTables",
    "MixSpec",
    "MlflowArtifacts",
    "MlflowExperiment",
    "MlflowExperimentFound",
    "MlflowExperiments",
    "MlflowFile",
    "MlflowHistory",
    "MlflowMetric",
    "MlflowPair",
    "MlflowRun",
    "MlflowRunData",
    "MlflowRunFound",
    "MlflowRunInfo",
    "MlflowRuns",
    "Model",
    "ModelFailure",
    "ModelList",
    "ModelWarning",
    "MomentState",
    "NewArtifactReport",
    "Objective",
    "ObjectiveBolt",
    "ObjectiveBoltNormalization",
    "ObjectiveBoltReference",
    "ObjectiveBoltWeightsThreshold",
    "ObjectiveBoltZeroSpread",
    "ObjectiveFade",
    "ObjectiveGrpo",
    "ObjectiveGrpoScale",
    "ObjectiveList",
    "ObjectiveNeeds",
    "ObjectiveP3O",
    "ObjectiveP3OEssScope",
    "ObjectiveP3OKlEstimator",
    "ObjectivePaper",
    "ObjectivePolicyGradient",
    "ObjectivePolicyGradientCorrection",
    "ObjectivePolicyGradientRatio",
    "ObjectivePreset",
    "ObjectiveSft",
    "ObjectiveSftSource",
    "ObjectiveVopd",
    "ObjectiveVopdBaselineTopK",
    "ObjectiveVopdEstimator",
    "OnExhausted",
    "OptimizerKind",
    "OptimizerSpec",
    "PassRate",
    "PassRateRange",
    "PhaseChange",
    "PhaseEvent",
    "PhaseProgress",
    "Precision",
    "Preflight",
    "PreflightMemory",
    "PreflightPlan",
    "PreflightRows",
    "PreflightWarning",
    "PreviewedRow",
    "Problem",
    "ProblemError",
    "ProgressEvent",
    "Project",
    "ProjectList",
    "ProjectUsage",
    "PromptFormat",
    "PushExport",
    "PushStatus",
    "Quantize",
    "Question",
    "Queue",
    "QueueCounts",
    "QueuedJob",
    "ReceivedFile",
    "Recommendation",
    "RecommendationCode",
    "RegisteredHost",
    "Regrade",
    "Rendezvous",
    "Report",
    "ReportedCheckpoint",
    "ReportedCheckpointSha256",
    "ReportedEvent",
    "ReportedFork",
    "ReportedWarning",
    "ReportFormat",
    "Requeued",
    "ResourceSpec",
    "RewardControl",
    "Role",
    "Rollout",
    "RolloutAnswer",
    "RolloutJudgement",
    "RolloutList",
    "RolloutPart",
    "RolloutSet",
    "RolloutSetAdded",
    "RolloutSetEvent",
    "RolloutSetList",
    "RolloutSetSpec",
    "RolloutSetStatus",
    "RolloutSetSummary",
    "RolloutSpec",
    "RowCondition",
    "RowError",
    "RowOrder",
    "RowPrompt",
    "RowPromptList",
    "RowSampling",
    "RunGrader",
    "SampledWeights",
    "SamplingSpec",
    "SearchMlflowExperiments",
    "SearchMlflowRuns",
    "ServerTime",
    "Session",
    "SessionLink",
    "SigningKeysResponse200",
    "StatusChange",
    "StatusEvent",
    "StepMetrics",
    "StepMetricsValues",
    "StreamOptions",
    "Suite",
    "SuiteList",
    "SuiteRun",
    "SuiteRunList",
    "SuiteRunOfSet",
    "SuiteSetsItem",
    "Sweep",
    "SweepBudget",
    "SweepComparison",
    "SweepConfiguration",
    "SweepConfigurationPatchType0Item",
    "SweepCounts",
    "SweepDraws",
    "SweepHalving",
    "SweepList",
    "SweepReport",
    "SweepSummary",
    "SweepSummaryValues",
    "SweepTrial",
    "SweepVariant",
    "SweepVariantPatchItem",
    "Table",
    "TestCompletion",
    "TestVerdict",
    "TestVerifier",
    "TokenLengths",
    "TokenLogprob",
    "TopLogprob",
    "TrainOn",
    "TrainSpec",
    "TryVerifier",
    "UniqueBy",
    "Unit",
    "UpdateJob",
    "UpdateJobMetadataType0",
    "UpdateLabels",
    "UpdateSweep",
    "UpdateWebhookEndpoint",
    "Upload",
    "UploadPart",
    "Usage",
    "Verdict",
    "Verifier",
    "VerifierAudit",
    "VerifierChoice",
    "VerifierChoiceExtract",
    "VerifierChoiceSeveral",
    "VerifierCode",
    "VerifierCodeColumns",
    "VerifierCodeFormat",
    "VerifierCodeReward",
    "VerifierCommand",
    "VerifierConstraints",
    "VerifierConstraintsInstructionType0",
    "VerifierConstraintsInstructionType1",
    "VerifierConstraintsInstructionType10",
    "VerifierConstraintsInstructionType11",
    "VerifierConstraintsInstructionType12",
    "VerifierConstraintsInstructionType13",
    "VerifierConstraintsInstructionType14",
    "VerifierConstraintsInstructionType15",
    "VerifierConstraintsInstructionType16",
    "VerifierConstraintsInstructionType17",
    "VerifierConstraintsInstructionType18",
    "VerifierConstraintsInstructionType19",
    "VerifierConstraintsInstructionType2",
    "VerifierConstraintsInstructionType20",
    "VerifierConstraintsInstructionType21",
    "VerifierConstraintsInstructionType22",
    "VerifierConstraintsInstructionType23",
    "VerifierConstraintsInstructionType24",
    "VerifierConstraintsInstructionType3",
    "VerifierConstraintsInstructionType4",
    "VerifierConstraintsInstructionType5",
    "VerifierConstraintsInstructionType6",
    "VerifierConstraintsInstructionType7",
    "VerifierConstraintsInstructionType8",
    "VerifierConstraintsInstructionType9",
    "VerifierConstraintsRelation",
    "VerifierConstraintsReward",
    "VerifierEnvironment",
    "VerifierEnvironmentTake",
    "VerifierExact",
    "VerifierExactExtract",
    "VerifierExpression",
    "VerifierExpressionExtract",
    "VerifierExpressionUses",
    "VerifierHttp",
    "VerifierJson",
    "VerifierJsonExtract",
    "VerifierJsonSchema",
    "VerifierJsonSchemaExtract",
    "VerifierLength",
    "VerifierLengthRule",
    "VerifierList",
    "VerifierMath",
    "VerifierMathPlace",
    "VerifierMathWriting",
    "VerifierModel",
    "VerifierModelMode",
    "VerifierMulti",
    "VerifierMultiCombine",
    "VerifierMultiGates",
    "VerifierMultiGraders",
    "VerifierMultiGradersAdditionalProperty",
    "VerifierMultipleChoice",
    "VerifierMultipleChoiceAnswer",
    "VerifierMultipleChoiceExtract",
    "VerifierMultiWeights",
    "VerifierNumeric",
    "VerifierNumericExtract",
    "VerifierNumericPercent",
    "VerifierRegex",
    "VerifierRegexMust",
    "VerifierRepetition",
    "VerifierSql",
    "VerifierSqlExpected",
    "VerifierSqlOrder",
    "VerifierStringCheck",
    "VerifierStringCheckOperation",
    "VerifierTest",
    "VerifierTextSimilarity",
    "VerifierTextSimilarityMetric",
    "WebhookDelivery",
    "WebhookDeliveryList",
    "WebhookEndpoint",
    "WebhookEndpointList",
    "WebhookJob",
    "WebhookMessage",
    "WebhookMessageData",
    "WeightDtype",
    "Word",
    "WorkerBeat",
    "WorkerEnd",
    "WorkerRegistration",
)
