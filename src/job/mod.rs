//! What a job is, without any I/O: identifiers, the spec a client submits, the states a job moves
//! through and the events it leaves behind. Every other module may import this one; it imports none.

pub mod checkpoint;
pub mod device;
pub mod digest;
pub mod event;
pub mod field;
pub mod id;
pub mod memory;
pub mod metric;
pub mod placement;
pub mod rollout_set;
pub mod spec;
pub mod status;
pub mod time;

pub use checkpoint::{CheckpointKind, Manifest, ManifestFile};
pub use device::{DeviceProcess, DeviceReading, DeviceStatus};
pub use event::{Event, EventKind, EventLevel, NewEvent};
pub use field::{FieldError, Fields};
pub use id::{
    CheckpointId, DatasetId, DatasetVersionId, EventId, FileId, JobId, ModelId, PartId, RolloutSetId, UploadId,
    VerifierId, WorkerId,
};
pub use rollout_set::{RolloutLine, RolloutSetSpec, RolloutSummary};
pub use spec::JobSpec;
pub use status::{Failure, FailureKind, JobKind, JobStatus, Phase, RolloutSetStatus, UploadStatus};
pub use time::Timestamp;
