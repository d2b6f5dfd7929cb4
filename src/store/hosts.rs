//! The machines whose servers share a database: their names, and which of the servers leads, which is to do what is done once
//! for all of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::key_file::KeyFile;
use super::{Files, Result, Store, StoreError};
use crate::job::Timestamp;
use crate::job::device::LOCAL_HOST;
use crate::job::digest::sha256_hex;

/// A machine whose server was not seen for so long may lend its name to another.
const GONE: Duration = Duration::from_secs(30);
const FORGOTTEN: Duration = Duration::from_secs(7 * 86_400);

/// A machine with a server, or an agent's.
#[derive(Clone, Debug)]
pub struct HostRow {
    pub name: String,
    pub is_agent: bool,
    /// What its operator calls machines like it.
    pub pool: Option<String>,
    /// Since when it takes no new jobs.
    pub cordoned_at: Option<Timestamp>,
    /// Since when it is to let go of those that it has.
    pub drained_at: Option<Timestamp>,
    /// Of the program.
    pub version: String,
    /// When its server began.
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}

/// Whether a machine takes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Ready,
    /// No new ones.
    Cordoned,
    /// None at all: it lets go of those that it has.
    Drained,
}

impl Store {
    /// The same store for a machine with this name; without it the machine is the only one.
    pub fn on_host(self, name: &str) -> Self {
        Self { host: name.into(), ..self }
    }

    /// The name of this machine.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether there may be other machines.
    pub fn is_shared(&self) -> bool {
        self.address().is_some()
    }

    /// A server begins on this machine, unless one of another machine has its name.
    pub async fn join(&self, version: &str, now: Timestamp) -> Result<()> {
        let identity = self.identity()?;
        let mut tx = self.begin().await?;
        // Nobody else has a database of its own directory, but it may have been another's, as that of a backup was.
        if self.is_shared() {
            check_name(tx.connection(), self.host(), &identity, now).await?;
        }
        sqlx::query(
            "insert into host (name, identity, version, started_at, seen_at) values ($1, $2, $3, $4, $4)
             on conflict (name) do update set identity = excluded.identity, version = excluded.version, agent = 0,
                 started_at = excluded.started_at, seen_at = excluded.seen_at",
        )
        .bind(self.host())
        .bind(identity)
        .bind(version)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        if self.is_shared() {
            self.compare_keys(tx.connection(), now).await?;
        }
        tx.commit().await
    }

    /// Refuses to work with other keys than the servers that run: what they have encrypted could not be read, and what this
    /// one signs would not be known. Where none runs the keys may have been lost, and there are new ones from now on.
    async fn compare_keys(&self, connection: &mut AnyConnection, now: Timestamp) -> Result<()> {
        let others: i64 =
            sqlx::query_scalar("select count(*) from host where name <> $1 and seen_at > $2 and agent = 0")
                .bind(self.host())
                .bind(now.0 - GONE.as_millis() as i64)
                .fetch_one(&mut *connection)
                .await?;
        let keys = [
            ("secrets", self.vault.digest()?, self.vault.path()),
            ("signing", self.signer.digest()?, self.signer.file().path()),
        ];
        for (name, digest, path) in keys {
            let known: String = sqlx::query_scalar(
                "insert into key_digest (name, digest) values ($1, $2)
                 on conflict (name) do update set digest = key_digest.digest returning digest",
            )
            .bind(name)
            .bind(&digest)
            .fetch_one(&mut *connection)
            .await?;
            if known != digest && others == 0 {
                tracing::warn!(name, "no server runs with the key of this database; what it has encrypted is lost");
                sqlx::query("update key_digest set digest = $2 where name = $1")
                    .bind(name)
                    .bind(&digest)
                    .execute(&mut *connection)
                    .await?;
            } else if known != digest {
                let detail = format!(
                    "{} is not the key of the servers that use this database; copy their {name}.key here",
                    path.display()
                );
                return Err(StoreError::Conflict(detail));
            }
        }
        Ok(())
    }

    /// How many servers share the database, as of the last [`see_host`](Self::see_host).
    pub fn servers(&self) -> u32 {
        self.servers.load(Ordering::Relaxed)
    }

    /// The server of this machine is there, and looks who else is.
    pub async fn see_host(&self, now: Timestamp) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        let there: i64 =
            sqlx::query_scalar("select count(*) from host where agent = 0 and (seen_at > $1 or name = $2)")
                .bind(now.0 - GONE.as_millis() as i64)
                .bind(self.host())
                .fetch_one(&self.readers)
                .await?;
        self.servers.store(u32::try_from(there.max(1)).unwrap_or(u32::MAX), Ordering::Relaxed);
        let mut tx = self.begin_on_row().await?;
        sqlx::query("update host set seen_at = $2 where name = $1")
            .bind(self.host())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// The number of the newest change of the tables that the database has seen.
    pub async fn schema_version(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("select max(version) from _sqlx_migrations").fetch_one(&self.readers).await?)
    }

    /// Machines that were not seen for a week are forgotten, with devices that no job holds.
    pub async fn forget_hosts(&self, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let old = now.0 - FORGOTTEN.as_millis() as i64;
        sqlx::query(
            "delete from device where host <> 'local' and not exists (select 1 from host where name = device.host and seen_at > $1)
                and seen_at < $1 and not exists (select 1 from holding where holding.device = device.name)",
        )
        .bind(old)
        .execute(tx.connection())
        .await?;
        sqlx::query("delete from host where seen_at < $1").bind(old).execute(tx.connection()).await?;
        tx.commit().await
    }

    /// Whether a machine takes jobs from now on.
    pub async fn set_availability(&self, name: &str, to: Availability, now: Timestamp) -> Result<()> {
        let (cordoned, drained) = match to {
            Availability::Ready => (0, 0),
            Availability::Cordoned => (1, 0),
            Availability::Drained => (1, 1),
        };
        let mut tx = self.begin().await?;
        let changed = sqlx::query(
            "update host set cordoned_at = case when $2 = 0 then null else coalesce(cordoned_at, $4) end,
                             drained_at = case when $3 = 0 then null else coalesce(drained_at, $4) end
             where name = $1",
        )
        .bind(name)
        .bind(cordoned)
        .bind(drained)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::NotFound { what: "host", id: name.to_owned() });
        }
        tx.commit().await
    }

    /// All machines, by name.
    pub async fn hosts(&self) -> Result<Vec<HostRow>> {
        let rows = sqlx::query("select * from host order by name").fetch_all(&self.readers).await?;
        rows.iter().map(host).collect()
    }

    /// Whether the server with this name leads until `lease` from `now`, for the first time or once more. Whose database
    /// nobody else can have always leads.
    pub async fn lead(&self, server: &str, lease: Duration, now: Timestamp) -> Result<bool> {
        if !self.is_shared() {
            return Ok(true);
        }
        let mut tx = self.begin_on_row().await?;
        let led = sqlx::query(
            "insert into leader (only_row, server, until) values (1, $1, $3)
             on conflict (only_row) do update set server = excluded.server, until = excluded.until
                where leader.server = excluded.server or leader.until < $2",
        )
        .bind(server)
        .bind(now.0)
        .bind(now.0 + lease.as_millis() as i64)
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        Ok(led.rows_affected() > 0)
    }

    /// Another server may lead at once.
    pub async fn abdicate(&self, server: &str) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        let mut tx = self.begin_on_row().await?;
        sqlx::query("delete from leader where server = $1").bind(server).execute(tx.connection()).await?;
        tx.commit().await
    }

    /// What tells this data directory from others, for ever.
    pub(super) fn identity(&self) -> Result<String> {
        self.files.host_identity()
    }
}

impl Files {
    /// What tells the directory from others, for ever.
    pub fn host_identity(&self) -> Result<String> {
        Ok(sha256_hex(&KeyFile::at(self.identity()).read(true)?))
    }
}

/// Refuses a name that another machine, or another data directory, has.
pub(super) async fn check_name(
    connection: &mut AnyConnection,
    name: &str,
    identity: &str,
    now: Timestamp,
) -> Result<()> {
    let other: Option<i64> = sqlx::query_scalar("select seen_at from host where name = $1 and identity <> $2")
        .bind(name)
        .bind(identity)
        .fetch_optional(connection)
        .await?;
    if other.is_none_or(|seen_at| now.0 - seen_at >= GONE.as_millis() as i64) {
        return Ok(());
    }
    let detail = format!(
        "another machine, or another data directory, has the name `{name}` and was seen {} s ago or less; give this one a \
         name of its own with --host-name, or wait",
        GONE.as_secs()
    );
    Err(StoreError::Refused { code: "host_name_taken", detail })
}

/// The name of a machine for which nobody chose one.
pub(super) fn unnamed() -> std::sync::Arc<str> {
    LOCAL_HOST.into()
}

fn host(row: &AnyRow) -> Result<HostRow> {
    let time = |column| -> Result<Option<Timestamp>> { Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp)) };
    Ok(HostRow {
        name: row.try_get("name")?,
        is_agent: row.try_get::<i64, _>("agent")? != 0,
        pool: row.try_get("pool")?,
        cordoned_at: time("cordoned_at")?,
        drained_at: time("drained_at")?,
        version: row.try_get("version")?,
        started_at: Timestamp(row.try_get("started_at")?),
        seen_at: Timestamp(row.try_get("seen_at")?),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::job::DeviceReading;

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    async fn directory(name: &str) -> (Store, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (Store::open(folder.path()).await.unwrap().on_host(name), folder)
    }

    #[tokio::test]
    async fn a_machine_touches_no_devices_but_its_own() {
        let (one, _folder) = directory("one").await;
        let two = one.clone().on_host("two");
        let reading = |name: &str| DeviceReading::of_test(name, 0, 1 << 30);
        one.set_devices(&[reading("one/cpu")], NOW).await.unwrap();
        two.set_devices(&[reading("two/cpu")], NOW).await.unwrap();
        one.set_devices(&[reading("one/cuda:0")], NOW).await.unwrap();
        let names: Vec<String> = one.devices(NOW).await.unwrap().into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["one/cuda:0", "two/cpu"]);
    }

    #[tokio::test]
    async fn two_machines_do_not_have_one_name_until_one_is_gone() {
        let (one, _folder) = directory("one").await;
        let (other, _other) = directory("one").await;
        one.join("1", NOW).await.unwrap();
        one.join("1", NOW).await.unwrap();
        if !one.is_shared() {
            return;
        }
        // As if its data directory were another's.
        let (own, _) = (one.identity().unwrap(), other.identity().unwrap());
        fs::copy(other.files.identity(), one.files.identity()).unwrap();
        let refused = one.join("1", Timestamp(NOW.0 + 29_000)).await.unwrap_err();
        assert!(refused.to_string().contains("--host-name"), "{refused}");
        one.join("1", Timestamp(NOW.0 + 31_000)).await.unwrap();
        assert_ne!(own, one.identity().unwrap());
    }

    #[tokio::test]
    async fn servers_that_run_together_have_the_same_keys() {
        let (one, _folder) = directory("one").await;
        if !one.is_shared() {
            return;
        }
        one.join("1", NOW).await.unwrap();
        let other = tempfile::tempdir().unwrap();
        let address = one.address().unwrap();
        let two = Store::open_at(other.path(), Some(address), None).await.unwrap().on_host("two");
        let refused = two.join("1", NOW).await.unwrap_err();
        assert!(refused.to_string().contains("secrets.key"), "{refused}");
        for key in ["secrets.key", "signing.key"] {
            fs::copy(one.files().root().join(key), two.files().root().join(key)).unwrap();
        }
        two.join("1", NOW).await.unwrap();
        fs::remove_file(two.files().root().join("secrets.key")).unwrap();
        let alone = Timestamp(NOW.0 + 60_000);
        Store::open_at(other.path(), Some(address), None).await.unwrap().on_host("two").join("1", alone).await.unwrap();
    }

    #[tokio::test]
    async fn one_server_leads_until_it_lets_go_or_is_silent() {
        let (store, _folder) = directory("one").await;
        let lease = Duration::from_secs(2);
        if !store.is_shared() {
            assert!(store.lead("srv_1", lease, NOW).await.unwrap() && store.lead("srv_2", lease, NOW).await.unwrap());
            return;
        }
        assert!(store.lead("srv_1", lease, NOW).await.unwrap());
        assert!(!store.lead("srv_2", lease, Timestamp(NOW.0 + 1000)).await.unwrap());
        assert!(store.lead("srv_1", lease, Timestamp(NOW.0 + 1000)).await.unwrap());
        assert!(!store.lead("srv_2", lease, Timestamp(NOW.0 + 2500)).await.unwrap());
        assert!(store.lead("srv_2", lease, Timestamp(NOW.0 + 3001)).await.unwrap());
        assert!(!store.lead("srv_1", lease, Timestamp(NOW.0 + 3001)).await.unwrap());
        store.abdicate("srv_2").await.unwrap();
        assert!(store.lead("srv_1", lease, Timestamp(NOW.0 + 3001)).await.unwrap());
    }
}
