//! Graders tried out: whether one is valid, and what it says of a completion.

pub mod run;
pub mod validate;
