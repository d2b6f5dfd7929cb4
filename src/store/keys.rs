//! API keys, of which only the digest is stored.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::digest::sha256_hex;
use crate::job::{ApiKeyId, Scope, Timestamp};

/// How exactly the last use of a key is known.
const USE_MILLISECONDS: i64 = 60_000;

/// A key without its secret.
#[derive(Clone, Debug)]
pub struct ApiKeyRow {
    pub id: ApiKeyId,
    pub project: String,
    pub name: String,
    /// SHA-256 of the key, in hexadecimal digits.
    pub digest: String,
    pub prefix: String,
    pub scopes: Vec<Scope>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// Keys of a project that are neither revoked nor expired: each has limits of its own.
const MOST_KEYS: i64 = 1000;

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    pub project: String,
    pub name: String,
    pub scopes: Vec<Scope>,
    pub metadata: BTreeMap<String, String>,
    pub expires_at: Option<Timestamp>,
}

/// Before every key.
const PREFIX: &str = "ak_";
/// Of 256 random bits in URL-safe base64 the first few are kept to recognise a key by.
const SHOWN: usize = PREFIX.len() + 6;

impl ApiKeyRow {
    /// A key of 256 random bits, and the secret that is its only copy.
    pub fn generate(new: NewApiKey, now: Timestamp) -> Result<(Self, String)> {
        let secret = random_secret(PREFIX)?;
        let row = Self {
            id: ApiKeyId::generate(),
            project: new.project,
            name: new.name,
            digest: sha256_hex(secret.as_bytes()),
            prefix: secret.chars().take(SHOWN).collect(),
            scopes: new.scopes,
            metadata: new.metadata,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        Ok((row, secret))
    }

    /// Whether the key opens anything at `now`.
    pub fn is_usable(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end.0 > now.0)
    }
}

/// 256 random bits in URL-safe base64 behind `prefix`.
pub(super) fn random_secret(prefix: &str) -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Io {
        action: "reading",
        path: String::from("random numbers"),
        source: error.into(),
    })?;
    Ok(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

impl Store {
    /// Adds a key. The first one that administers a project is the operator's, if whoever makes it may make operators.
    pub async fn add_api_key(&self, mut key: ApiKeyRow, by_operator: bool) -> Result<ApiKeyRow> {
        let mut tx = self.begin().await?;
        let usable: i64 = sqlx::query_scalar(
            "select count(*) from api_key
             where project = $1 and revoked_at is null and (expires_at is null or expires_at > $2)",
        )
        .bind(&key.project)
        .bind(key.created_at.0)
        .fetch_one(tx.connection())
        .await?;
        if usable >= MOST_KEYS {
            return Err(StoreError::QuotaExceeded(format!(
                "the project `{}` has {MOST_KEYS} keys that are good; revoke some of them",
                key.project
            )));
        }
        if by_operator && key.scopes.contains(&Scope::Admin) && !key.scopes.contains(&Scope::Operator) {
            let operators = sqlx::query("select 1 from api_key where scopes like '%operator%' limit 1");
            if operators.fetch_optional(tx.connection()).await?.is_none() {
                key.scopes.push(Scope::Operator);
            }
        }
        insert_key(tx.connection(), &key).await?;
        tx.commit_made(key.id).await?;
        Ok(key)
    }

    /// Whether there has ever been a key. From then on nobody gets in without one.
    pub async fn has_api_keys(&self) -> Result<bool> {
        Ok(sqlx::query("select 1 from api_key limit 1").fetch_optional(&self.readers).await?.is_some())
    }

    /// Whether a key opens anything at `now`.
    pub async fn has_usable_api_key(&self, now: Timestamp) -> Result<bool> {
        let usable = sqlx::query(
            "select 1 from api_key where revoked_at is null and (expires_at is null or expires_at > $1) limit 1",
        );
        Ok(usable.bind(now.0).fetch_optional(&self.readers).await?.is_some())
    }

    /// The key with this digest, whatever its project.
    pub async fn api_key_with_digest(&self, digest: &str) -> Result<Option<ApiKeyRow>> {
        let known = self.keys.get(
            self,
            digest.to_owned(),
            |_| true,
            async || {
                let row = sqlx::query("select * from api_key where digest = $1").bind(digest);
                row.fetch_optional(&self.readers).await?.map(|row| api_key(&row)).transpose()
            },
        );
        known.await
    }

    pub async fn api_key(&self, id: ApiKeyId) -> Result<ApiKeyRow> {
        sqlx::query("select * from api_key where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(|| Err(StoreError::NotFound { what: "key", id: id.to_string() }), |row| api_key(&row))
    }

    pub async fn api_keys(&self, page: &Page) -> Result<Vec<ApiKeyRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from api_key where id > $1 and id < $2 and project = coalesce($3, project)
             order by id desc limit $4"
        } else {
            "select * from api_key where id > $1 and id < $2 and project = coalesce($3, project) order by id limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(self.project())
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(api_key).collect()
    }

    /// Ends a key at once. Revoking twice is the same as once.
    pub async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<ApiKeyRow> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update api_key set revoked_at = coalesce(revoked_at, $2)
             where id = $1 and project = coalesce($3, project)",
        )
        .bind(id.to_string())
        .bind(now.0)
        .bind(self.project())
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        self.api_key(id).await
    }

    /// Notes that a key was used, to the minute.
    pub async fn touch_api_key(&self, key: &ApiKeyRow, now: Timestamp) -> Result<()> {
        if key.last_used_at.is_some_and(|last| now.0 - last.0 < USE_MILLISECONDS) {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        // Others may have noted it meanwhile, and a write that changes nothing costs nothing.
        sqlx::query("update api_key set last_used_at = $2 where id = $1 and coalesce(last_used_at, 0) <= $3")
            .bind(key.id.to_string())
            .bind(now.0)
            .bind(now.0 - USE_MILLISECONDS)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }
}

pub(super) async fn insert_key(connection: &mut AnyConnection, key: &ApiKeyRow) -> Result<()> {
    sqlx::query(
        "insert into api_key (id, project, name, digest, prefix, scopes, metadata, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(key.id.to_string())
    .bind(&key.project)
    .bind(&key.name)
    .bind(&key.digest)
    .bind(&key.prefix)
    .bind(key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" "))
    .bind(write_json(&key.metadata)?)
    .bind(key.created_at.0)
    .bind(key.expires_at.map(|time| time.0))
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) fn api_key(row: &AnyRow) -> Result<ApiKeyRow> {
    let time = |column| -> Result<Option<Timestamp>> { Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp)) };
    let scopes: String = row.try_get("scopes")?;
    Ok(ApiKeyRow {
        id: read("key id", row.try_get("id")?)?,
        project: row.try_get("project")?,
        name: row.try_get("name")?,
        digest: row.try_get("digest")?,
        prefix: row.try_get("prefix")?,
        scopes: scopes.split_whitespace().map(|scope| read("scope", scope)).collect::<Result<_>>()?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?,
        last_used_at: time("last_used_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_project_has_no_more_good_keys_than_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let now = Timestamp(1_000_000);
        let add = async |project: &str| {
            let (project, name) = (project.to_owned(), String::from("k"));
            let (scopes, metadata) = (vec![Scope::Read], BTreeMap::new());
            let new = NewApiKey { project, name, scopes, metadata, expires_at: None };
            store.add_api_key(ApiKeyRow::generate(new, now).unwrap().0, false).await
        };
        let mut tx = store.begin().await.unwrap();
        sqlx::query(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
             insert into api_key (id, project, name, digest, prefix, scopes, metadata, created_at, expires_at)
             select 'key_' || i, 'p', 'k', cast(i as text), 'ak_', 'read', '{}', 0, case i when 1 then $2 end from n",
        )
        .bind(MOST_KEYS)
        .bind(now.0)
        .execute(tx.connection())
        .await
        .unwrap();
        tx.commit().await.unwrap();
        let last = add("p").await.expect("one has expired");
        assert!(matches!(add("p").await, Err(StoreError::QuotaExceeded(_))));
        add("q").await.unwrap();
        store.revoke_api_key(last.id, now).await.unwrap();
        add("p").await.unwrap();
    }
}
