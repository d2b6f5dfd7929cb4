//! Requests that were answered, so that repeating one gives the same answer. Those that make a job are remembered
//! with the job (`submissions`); of others the key is written with what they make, in one transaction, and the answer
//! after it.

use sqlx::AnyConnection;
use sqlx::Row;

use super::vault::Vault;
use super::{Result, Store, optional};
use crate::job::Timestamp;

tokio::task_local! {
    /// The keyed request that is being served; none where what is made is not what it asks for.
    static SERVED: Option<Keyed>;
}

/// A request that can be known again.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    pub project: String,
    pub key: String,
    /// Of what it asks for.
    pub digest: String,
    pub now: Timestamp,
}

/// As what answers are encrypted.
const ANSWER: &str = "remembered answer";
/// How long an answer is kept.
const KEPT_MILLISECONDS: i64 = 24 * 3600 * 1000;

/// What a request was answered.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Of what it asked for.
    pub digest: String,
    /// None when the server ended before it was written down.
    pub answer: Option<(u16, String)>,
    /// What it made, which is its answer where there is no other.
    pub resource: Option<String>,
}

impl Store {
    /// What is known of the request with this key.
    pub async fn recorded(&self, key: &str, now: Timestamp) -> Result<Option<Recorded>> {
        let row = sqlx::query(
            "select digest, status, answer, resource from idempotency where project = $1 and key = $2 and created_at >= $3",
        )
        .bind(self.own_project())
        .bind(key)
        .bind(now.0 - KEPT_MILLISECONDS)
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (status, answer): (Option<u16>, Option<String>) = (optional(&row, "status")?, row.try_get("answer")?);
        let answer = answer.map(|answer| self.vault.open(&answer, ANSWER)).transpose()?;
        let (digest, resource) = (row.try_get("digest")?, row.try_get("resource")?);
        Ok(Some(Recorded { digest, answer: status.zip(answer), resource }))
    }

    /// Encrypts answers that an older version has stored in plain text, and says whether there were any.
    pub(super) async fn seal_answers(&self, connection: &mut AnyConnection) -> Result<bool> {
        let rows: Vec<(String, String, String)> =
            sqlx::query_as("select project, key, answer from idempotency where answer is not null")
                .fetch_all(&mut *connection)
                .await?;
        let mut changed = false;
        for (project, key, answer) in rows.into_iter().filter(|(_, _, answer)| !Vault::is_sealed(answer)) {
            sqlx::query("update idempotency set answer = $3 where project = $1 and key = $2")
                .bind(project)
                .bind(key)
                .bind(self.vault.seal(&answer, ANSWER)?)
                .execute(&mut *connection)
                .await?;
            changed = true;
        }
        Ok(changed)
    }

    /// Serves the request with this key: what it makes is written together with the key.
    pub async fn serve_keyed<F: Future>(&self, key: &str, digest: &str, now: Timestamp, serve: F) -> F::Output {
        let (project, key, digest) = (self.own_project().to_owned(), key.to_owned(), digest.to_owned());
        SERVED.scope(Some(Keyed { project, key, digest, now }), serve).await
    }

    /// Does a part of what a request asks for: what that makes on the way is not what the key stands for.
    pub async fn on_the_way<F: Future>(&self, part: F) -> F::Output {
        SERVED.scope(None, part).await
    }

    /// Keeps the answer to the request with this key.
    pub async fn record_answer(
        &self,
        key: &str,
        digest: &str,
        (status, answer): (u16, &str),
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from idempotency where created_at < $1")
            .bind(now.0 - KEPT_MILLISECONDS)
            .execute(tx.connection())
            .await?;
        sqlx::query(
            "insert into idempotency (project, key, digest, status, answer, created_at)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (project, key) do update set status = excluded.status, answer = excluded.answer
                where idempotency.digest = excluded.digest",
        )
        .bind(self.own_project())
        .bind(key)
        .bind(digest)
        .bind(i64::from(status))
        .bind(self.vault.seal(answer, ANSWER)?)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }
}

/// The key of the request that is being served, if it has one, stands for what was made, within the transaction that
/// makes it.
pub(super) async fn stand_for(connection: &mut AnyConnection, resource: &str) -> Result<()> {
    match SERVED.try_with(Clone::clone) {
        Ok(Some(keyed)) => remember(connection, &keyed, resource).await,
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The same for what no other request shows: the answer is kept, within the transaction that does what was asked for.
pub(super) async fn answered(connection: &mut AnyConnection, vault: &Vault, status: u16, answer: &str) -> Result<()> {
    match SERVED.try_with(Clone::clone) {
        Ok(Some(keyed)) => insert(connection, &keyed, None, Some((status, vault.seal(answer, ANSWER)?))).await,
        Ok(None) | Err(_) => Ok(()),
    }
}

/// From now on a key stands for what was made, within the transaction that makes it.
pub(super) async fn remember(connection: &mut AnyConnection, keyed: &Keyed, resource: &str) -> Result<()> {
    insert(connection, keyed, Some(resource), None).await
}

async fn insert(
    connection: &mut AnyConnection,
    keyed: &Keyed,
    resource: Option<&str>,
    answer: Option<(u16, String)>,
) -> Result<()> {
    let (status, answer) = answer.unzip();
    sqlx::query(
        "insert into idempotency (project, key, digest, resource, status, answer, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (project, key) do update set digest = excluded.digest, resource = excluded.resource,
            status = excluded.status, answer = excluded.answer, created_at = excluded.created_at",
    )
    .bind(&keyed.project)
    .bind(&keyed.key)
    .bind(&keyed.digest)
    .bind(resource)
    .bind(status.map(i64::from))
    .bind(answer)
    .bind(keyed.now.0)
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::VerifierId;
    use crate::store::VerifierRow;

    /// What is there without an answer is what a server leaves that is killed between the two.
    #[tokio::test]
    async fn a_key_stands_for_what_was_made_from_the_moment_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let now = Timestamp(1_750_000_000_000);
        let row = || VerifierRow {
            id: VerifierId::generate(),
            name: None,
            config: json!({"type": "numeric"}),
            digest: String::new(),
            metadata: Default::default(),
            created_at: now,
        };
        let (first, unkeyed) = (row(), row());
        store.add_verifier(&unkeyed).await.unwrap();
        store.serve_keyed("k", "sha256:00", now, store.add_verifier(&first)).await.unwrap();
        let known = store.recorded("k", now).await.unwrap().unwrap();
        assert_eq!((known.resource, known.answer), (Some(first.id.to_string()), None));
        store.record_answer("k", "sha256:00", (201, "{}"), now).await.unwrap();
        let known = store.recorded("k", now).await.unwrap().unwrap();
        assert_eq!(known.answer, Some((201, String::from("{}"))));
        assert!(store.recorded("other", now).await.unwrap().is_none());
    }
}
