//! What audits have said of verifiers.

use super::{Result, Store, read_json, write_json};
use crate::job::Timestamp;

/// The last audit of a configuration on some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifierAuditRow {
    /// Of the verifier's configuration with all defaults.
    pub digest: String,
    /// The rows, as resolved specs name them.
    pub dataset: String,
    pub trusted: bool,
    /// Why not, in sentences.
    pub reasons: Vec<String>,
    pub created_at: Timestamp,
}

impl Store {
    /// Keeps what an audit has said, in the place of what an earlier one said of the same.
    pub async fn keep_audit(&self, audit: &VerifierAuditRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into verifier_audit (project, digest, dataset, trusted, reasons, created_at)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (project, digest, dataset) do update
             set trusted = excluded.trusted, reasons = excluded.reasons, created_at = excluded.created_at",
        )
        .bind(self.own_project())
        .bind(&audit.digest)
        .bind(&audit.dataset)
        .bind(i64::from(audit.trusted))
        .bind(write_json(&audit.reasons)?)
        .bind(audit.created_at.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// What the last audit of a configuration on some rows has said; none before there was one.
    pub async fn audit_of(&self, digest: &str, dataset: &str) -> Result<Option<VerifierAuditRow>> {
        let row: Option<(i64, String, i64)> = sqlx::query_as(
            "select trusted, reasons, created_at from verifier_audit
             where project = $1 and digest = $2 and dataset = $3",
        )
        .bind(self.own_project())
        .bind(digest)
        .bind(dataset)
        .fetch_optional(&self.readers)
        .await?;
        row.map(|(trusted, reasons, created_at)| {
            Ok(VerifierAuditRow {
                digest: digest.to_owned(),
                dataset: dataset.to_owned(),
                trusted: trusted != 0,
                reasons: read_json("audit", &reasons)?,
                created_at: Timestamp(created_at),
            })
        })
        .transpose()
    }
}
