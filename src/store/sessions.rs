//! Sessions of browsers, and the links that begin them. A session may do what its key may, and ends with it at the latest.

use super::keys::{api_key, random_secret};
use super::{ApiKeyRow, Result, Store, StoreError};
use crate::job::digest::sha256_hex;
use crate::job::{ApiKeyId, Timestamp};

/// How long a session lasts, in milliseconds: a working day.
const SESSION: i64 = 12 * 3600 * 1000;
/// How long a link is good, in milliseconds.
const LINK: i64 = 60 * 1000;
/// Sessions, and links, of one key; beyond, the oldest ends.
const MOST: i64 = 100;

/// A session or a link that was just made. What it is known by is stored nowhere else.
#[derive(Debug)]
pub struct NewSession {
    pub secret: String,
    pub expires_at: Timestamp,
}

/// What a session stands for.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub key: ApiKeyRow,
    pub expires_at: Timestamp,
}

impl Store {
    /// Begins a session of a key.
    pub async fn add_session(&self, key: ApiKeyId, now: Timestamp) -> Result<NewSession> {
        self.add(key, "session", SESSION, now).await
    }

    /// Makes a link that begins one session of a key.
    pub async fn add_session_link(&self, key: ApiKeyId, now: Timestamp) -> Result<NewSession> {
        self.add(key, "link", LINK, now).await
    }

    async fn add(&self, key: ApiKeyId, kind: &str, lasts: i64, now: Timestamp) -> Result<NewSession> {
        let secret = random_secret("as_")?;
        let expires_at = Timestamp(now.0 + lasts);
        let mut tx = self.begin().await?;
        sqlx::query("delete from session where expires_at <= $1").bind(now.0).execute(tx.connection()).await?;
        sqlx::query(
            "delete from session where digest in (
                 select digest from session where key_id = $1 and kind = $2
                 order by created_at desc, digest limit 9223372036854775807 offset $3)",
        )
        .bind(key.to_string())
        .bind(kind)
        .bind(MOST - 1)
        .execute(tx.connection())
        .await?;
        sqlx::query("insert into session (digest, kind, key_id, created_at, expires_at) values ($1, $2, $3, $4, $5)")
            .bind(sha256_hex(secret.as_bytes()))
            .bind(kind)
            .bind(key.to_string())
            .bind(now.0)
            .bind(expires_at.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        Ok(NewSession { secret, expires_at })
    }

    /// Uses a link up. The key that it stands for, if it was good.
    pub async fn use_session_link(&self, secret: &str, now: Timestamp) -> Result<Option<ApiKeyRow>> {
        // Wrong codes are turned away before the one connection that writes.
        let known = sqlx::query("select 1 from session where digest = $1 and kind = 'link'")
            .bind(sha256_hex(secret.as_bytes()))
            .fetch_optional(&self.readers)
            .await?;
        if known.is_none() {
            return Ok(None);
        }
        let mut tx = self.begin().await?;
        let key: Option<String> = sqlx::query_scalar(
            "delete from session where digest = $1 and kind = 'link' and expires_at > $2 returning key_id",
        )
        .bind(sha256_hex(secret.as_bytes()))
        .bind(now.0)
        .fetch_optional(tx.connection())
        .await?;
        tx.commit().await?;
        let Some(key) = key else { return Ok(None) };
        let row = sqlx::query("select * from api_key where id = $1").bind(key).fetch_optional(&self.readers).await?;
        row.map(|row| api_key(&row)).transpose()
    }

    /// The session that is known by `secret`, with its key, which may have ended before it.
    pub async fn session(&self, secret: &str, now: Timestamp) -> Result<Option<SessionRow>> {
        let row = sqlx::query(
            "select api_key.*, session.expires_at as session_ends from session join api_key on api_key.id = key_id
             where session.digest = $1 and kind = 'session' and session.expires_at > $2",
        )
        .bind(sha256_hex(secret.as_bytes()))
        .bind(now.0)
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let ends = sqlx::Row::try_get(&row, "session_ends").map_err(StoreError::from)?;
        Ok(Some(SessionRow { key: api_key(&row)?, expires_at: Timestamp(ends) }))
    }

    /// Ends a session.
    pub async fn end_session(&self, secret: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from session where digest = $1 and kind = 'session'")
            .bind(sha256_hex(secret.as_bytes()))
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::job::Scope;
    use crate::store::NewApiKey;

    #[tokio::test]
    async fn a_session_ends_by_itself_and_a_link_is_used_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let now = Timestamp(1_000_000);
        let (project, name) = (String::from("p"), String::from("k"));
        let new = NewApiKey { project, name, scopes: vec![Scope::Read], metadata: BTreeMap::new(), expires_at: None };
        let key = store.add_api_key(ApiKeyRow::generate(new, now).unwrap().0, false).await.unwrap();

        let session = store.add_session(key.id, now).await.unwrap();
        let found = store.session(&session.secret, now).await.unwrap().unwrap();
        assert_eq!((found.key.id, found.expires_at), (key.id, session.expires_at));
        assert!(store.session(&session.secret, session.expires_at).await.unwrap().is_none());
        store.end_session(&session.secret).await.unwrap();
        assert!(store.session(&session.secret, now).await.unwrap().is_none());

        let link = store.add_session_link(key.id, now).await.unwrap();
        assert!(store.session(&link.secret, now).await.unwrap().is_none(), "a link is no session");
        assert_eq!(store.use_session_link(&link.secret, now).await.unwrap().unwrap().id, key.id);
        assert!(store.use_session_link(&link.secret, now).await.unwrap().is_none());
        let late = store.add_session_link(key.id, now).await.unwrap();
        assert!(store.use_session_link(&late.secret, late.expires_at).await.unwrap().is_none());

        let first = store.add_session(key.id, now).await.unwrap();
        for _ in 0..MOST {
            store.add_session(key.id, Timestamp(now.0 + 1)).await.unwrap();
        }
        assert!(store.session(&first.secret, now).await.unwrap().is_none(), "the oldest ends");
        let all: i64 = sqlx::query_scalar("select count(*) from session").fetch_one(&store.readers).await.unwrap();
        assert!(all <= 2 * MOST);
    }
}
