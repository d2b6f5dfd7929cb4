//! The database schema, one numbered file a change, in the order in which they run. A test compares the list with the
//! folder.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};

macro_rules! migrations {
    ($($file:literal),+ $(,)?) => {
        /// Every file of `migrations/sqlite` with its text.
        const FILES: &[(&str, &str)] = &[$(($file, include_str!(concat!("../../migrations/sqlite/", $file, ".sql")))),+];
    };
}

migrations! {
    "0001_init",
    "0002_rollout_sets",
    "0003_devices",
    "0004_projects",
    "0005_lifecycle",
    "0007_files",
    "0008_webhooks",
    "0009_evaluations",
    "0010_access",
    "0011_indexes",
    "0012_job_inputs",
    "0013_artifacts",
    "0014_job_status",
    "0015_columns",
}

/// What brings a database up to date; all changes whose numbers are at most `last`.
pub(super) fn migrator(last: i64) -> Migrator {
    let all = FILES.iter().filter_map(|(name, sql)| {
        let (number, description) = name.split_once('_')?;
        let version = number.parse().ok().filter(|version| *version <= last)?;
        let description = Cow::Owned(description.replace('_', " "));
        // SQLite cannot change a check within a transaction; such a file says so in its first line.
        let no_transaction = sql.starts_with("-- no-transaction");
        let sql = sqlx::SqlStr::from_static(sql);
        Some(Migration::new(version, description, MigrationType::Simple, sql, no_transaction))
    });
    Migrator::with_migrations(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_a_migration() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        assert_eq!(migrator(i64::MAX).iter().count(), FILES.len(), "a name is a number, `_` and a description");
    }
}
