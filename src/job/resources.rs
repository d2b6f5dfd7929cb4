//! The section of specs that says what a job runs on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FieldError;

/// What a job runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceSpec {
    /// How many devices the job holds from its begin to its end. It waits until as many are free together.
    #[schemars(range(min = 1, max = MAX_DEVICES))]
    pub devices: u32,
    /// How long the job waits for space, in seconds, each time that it finds the disk full; with 0 it fails at once.
    #[serde(skip_serializing_if = "is_usual_wait")]
    #[schemars(range(max = 31_536_000))]
    pub storage_wait_seconds: u64,
    /// Whether the job runs beside others with the same frozen weights, which are then loaded once; of jobs that train,
    /// those with an `adapter`. Results are the same bits as alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub share_base: bool,
}

/// A day.
const STORAGE_WAIT_SECONDS: u64 = 86_400;

/// Left out of the resolved spec, whose digests are older than the field.
fn is_usual_wait(seconds: &u64) -> bool {
    *seconds == STORAGE_WAIT_SECONDS
}

/// The most devices that one job may ask for.
pub const MAX_DEVICES: u32 = 64;

impl Default for ResourceSpec {
    fn default() -> Self {
        Self { devices: 1, storage_wait_seconds: STORAGE_WAIT_SECONDS, share_base: false }
    }
}

impl ResourceSpec {
    /// Only frozen weights can be shared, and on one device; `frozen` says whether the job leaves some as they are.
    pub fn check(&self, frozen: bool) -> Result<(), Vec<FieldError>> {
        let detail = match (self.share_base, frozen, self.devices) {
            (false, ..) | (true, true, 1) => return Ok(()),
            (true, false, _) => {
                "shares weights that nobody changes, and this job trains all; add an `adapter`, or leave it out"
            }
            (true, true, _) => "is for jobs on one device; leave it out, or ask for one of `devices`",
        };
        Err(vec![FieldError::new("/resources/share_base", "conflict", detail)])
    }
}
