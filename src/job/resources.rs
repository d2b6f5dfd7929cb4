//! The section of specs that says what a job runs on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FieldError;
use super::device::is_host_name;
use super::placement::Shape;

/// What a job runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceSpec {
    /// How many devices the job holds from its begin to its end. It waits until as many are free together.
    #[schemars(range(min = 1, max = MAX_DEVICES))]
    pub devices: u32,
    /// How many machines the devices are on, as many on each.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = MAX_HOSTS))]
    pub hosts: u32,
    /// The pool whose machines the job runs on, as their agents or launcher call it; without it on any. A server's own devices
    /// are in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9._-]{0,62}$"))]
    pub pool: Option<String>,
    /// Whether each attempt takes as many of the devices as are free when it begins, at least one. Results depend on how many
    /// that were, within rounding.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elastic: bool,
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

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The most devices that one job may ask for.
pub const MAX_DEVICES: u32 = 64;
/// The most machines that its devices may be on.
pub const MAX_HOSTS: u32 = 16;

impl Default for ResourceSpec {
    fn default() -> Self {
        Self {
            devices: 1,
            hosts: 1,
            pool: None,
            elastic: false,
            storage_wait_seconds: STORAGE_WAIT_SECONDS,
            share_base: false,
        }
    }
}

impl ResourceSpec {
    /// All that the job asks for.
    pub fn shape(&self) -> Shape {
        Shape::new(self.devices, self.hosts)
    }

    /// The least that it can start with.
    pub fn least(&self) -> Shape {
        self.shape().least(self.elastic)
    }

    /// Machines have as many of the devices each. Only frozen weights can be shared, and on one device; `frozen` says whether
    /// the job leaves some as they are.
    pub fn check(&self, frozen: bool) -> Result<(), Vec<FieldError>> {
        if !self.devices.is_multiple_of(self.hosts) {
            let detail = format!(
                "{} devices cannot be on {} machines with as many on each; make `devices` a multiple of it",
                self.devices, self.hosts
            );
            return Err(vec![FieldError::new("/resources/hosts", "conflict", detail)]);
        }
        if self.pool.as_deref().is_some_and(|pool| !is_host_name(pool)) {
            let detail = "must be 1 to 63 lower-case letters, digits, `-`, `.` and `_`, the first a letter or digit";
            return Err(vec![FieldError::new("/resources/pool", "invalid_value", detail)]);
        }
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
