//! How commands that wait for a job end, for scripts.

pub const GATE_FAILED: u8 = 10;
pub const FAILED: u8 = 20;
pub const REFUSED: u8 = 21;
pub const CANCELLED: u8 = 30;
pub const PAUSED: u8 = 40;
pub const TIMED_OUT: u8 = 50;
/// What shells report of a program that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// Set by hand for 96 columns, as all examples and tables in help texts are.
pub const HELP: &str = "\
Exit codes: 0 succeeded, 10 the job's gate failed, 20 failed, 30 cancelled, 40 paused,
50 --timeout passed, 130 interrupted (the job goes on), 1 anything else, such as a server that
does not answer.";
