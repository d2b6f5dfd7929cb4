//! What a job is, without any I/O: identifiers, the sections of specs, the states a job moves
//! through and the events it leaves behind. Every other module may import this one; it imports none.

pub mod access;
pub mod adapter;
pub mod agent;
pub mod artifact;
pub mod bounds;
pub mod budget;
pub mod checkpoint;
pub mod curriculum;
pub mod device;
pub mod diagnosis;
pub mod digest;
pub mod environment;
pub mod evaluation;
pub mod event;
pub mod export;
pub mod field;
mod flips;
pub mod gaps;
pub mod gate;
pub mod id;
pub mod inference;
mod kinds;
pub mod launch;
pub mod memory;
pub mod metadata;
pub mod metric;
pub mod optimizer;
pub mod placement;
pub mod progress;
pub mod provenance;
pub mod random;
pub mod resources;
pub mod rollout_set;
mod sampling;
pub mod savings;
pub mod spec;
pub mod status;
pub mod sweep;
pub mod time;
pub mod turn;
pub mod waiting;
pub mod webhook;

pub use access::Scope;
pub use artifact::{ArtifactId, ArtifactKind, ArtifactSummary, Manifest, ManifestFile};
pub use budget::{BudgetSpec, OnExhausted};
pub use device::{DeviceProcess, DeviceReading, DeviceStatus};
pub use evaluation::{EvaluationSummary, PassAtK, PolicyEvaluation, PromptResult};
pub use event::{Event, EventBody, EventKind, EventLevel, NewEvent};
pub use export::{Export, ExportDtype, ExportFormat, ExportStatus, PushStatus};
pub use field::{FieldError, Fields};
pub use flips::{Flip, Flips, PairedPass};
pub use gate::GateSpec;
pub use id::{
    ApiKeyId, AuditEntryId, CheckpointId, DatasetId, DatasetVersionId, EvaluationId, EventId, ExportId, FileId, JobId,
    LaunchId, ModelId, PartId, RolloutSetId, SuiteId, SuiteRunId, SweepId, UploadId, VerifierId, WebhookDeliveryId,
    WebhookEndpointId, WorkerId,
};
pub(crate) use kinds::kinds;
pub use launch::LaunchStatus;
pub use rollout_set::{
    Learned, RewardPart, Rollout, RolloutGroup, RolloutLine, RolloutSummary, SampledGroup, ScoreStatus, TurnAnswer,
};
pub use status::{Failure, FailureKind, JobKind, JobStatus, ModelStatus, Phase, RolloutSetStatus, UploadStatus};
pub use sweep::SweepStatus;
pub use time::Timestamp;
