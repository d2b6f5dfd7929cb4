pub mod clock;
pub mod job;
pub mod objective;
