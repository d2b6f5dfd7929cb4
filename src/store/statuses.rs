//! Lists of statuses for SQL, which has to have them as text.

/// The statuses in which a worker holds a job, for SQL.
macro_rules! held {
    () => {
        "('starting', 'running', 'pausing', 'cancelling')"
    };
}
pub(super) use held;

/// The statuses of a job that is not over, for SQL.
macro_rules! unfinished {
    () => {
        "('queued', 'starting', 'running', 'pausing', 'paused', 'cancelling')"
    };
}
pub(super) use unfinished;

#[cfg(test)]
mod tests {
    use crate::job::JobStatus;

    #[test]
    fn the_lists_for_sql_are_those_of_the_statuses() {
        let list = |holds: fn(JobStatus) -> bool| {
            let names = JobStatus::ALL.iter().filter(|status| holds(**status)).map(|status| format!("'{status}'"));
            format!("({})", names.collect::<Vec<_>>().join(", "))
        };
        assert_eq!(held!(), list(JobStatus::is_held));
        assert_eq!(unfinished!(), list(|status| !status.is_final()));
    }
}
