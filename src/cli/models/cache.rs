//! `anneal models cache`

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::status;
use crate::cli::client::{Client, Refused, escape};
use crate::cli::output::{Output, Table, age, member, size};
use crate::cli::remote::{PageArgs, RemoteArgs, items};
use crate::clock;
use crate::config::Config;
use crate::hub;

#[derive(Debug, clap::Args)]
pub struct CacheArgs {
    /// Those that no job named for so long, as in 12h or 30d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    unused_for: Option<Duration>,
    /// Those that were used longest ago, until the rest has at most so much, as in 50GB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,
    /// Remove what the two name; without this they are only listed
    #[arg(long)]
    clean: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &CacheArgs) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| cache(client, output, args))
}

fn cache(client: &Client, output: Output, args: &CacheArgs) -> anyhow::Result<ExitCode> {
    let all = PageArgs::everything().list(client, "/v1/models", &[])?;
    let of_hub = |model: &&Value| model["source"].as_str().is_some_and(|source| source.starts_with(hub::PREFIX));
    let mut models: Vec<&Value> = items(&all).filter(of_hub).collect();
    models.sort_by_key(|model| used_at(model));
    let chosen = chosen(&models, args, clock::now().unix_seconds());
    let shown = if args.unused_for.is_some() || args.max_bytes.is_some() { &chosen } else { &models };
    if args.clean {
        return clean(client, output, &chosen);
    }
    output.answer(&Value::Array(shown.iter().map(|model| (*model).clone()).collect()), || {
        let mut table = Table::new(&["ID", "STATUS", ">SIZE", ">LAST USED", "MODEL"]);
        for model in shown {
            let used = Some(used_at(model));
            let row = [member(model, "/id"), status(model), size(model["bytes_done"].as_u64()), age(used)];
            table.row(row.into_iter().chain([member(model, "/source")]));
        }
        table.text("nothing came from the hub")
    });
    Ok(ExitCode::SUCCESS)
}

/// When a job named it last, or when it came; Unix seconds.
fn used_at(model: &Value) -> i64 {
    model["last_used_at"].as_i64().or(model["created_at"].as_i64()).unwrap_or_default()
}

/// What is to go of models that are sorted by their last use.
fn chosen<'a>(models: &[&'a Value], args: &CacheArgs, now: i64) -> Vec<&'a Value> {
    let bytes = |model: &Value| model["bytes_done"].as_u64().unwrap_or_default();
    let mut left: u64 = models.iter().map(|model| bytes(model)).sum();
    let is_old = |model: &Value| {
        args.unused_for.is_some_and(|age| now - used_at(model) >= i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
    };
    let mut goes = |model: &&&Value| {
        let goes = is_old(model) || args.max_bytes.is_some_and(|most| left > most);
        left -= if goes { bytes(model) } else { 0 };
        goes
    };
    models.iter().filter(|model| goes(model)).copied().collect()
}

/// Removes models, but for those that a job needs.
fn clean(client: &Client, output: Output, models: &[&Value]) -> anyhow::Result<ExitCode> {
    for model in models {
        let id = member(model, "/id");
        match client.delete(&format!("/v1/models/{}", escape(&id))) {
            Ok(deleted) => output.line(&deleted, || format!("{id} ({}) is removed\n", member(model, "/source"))),
            Err(error) => match error.downcast_ref::<Refused>() {
                Some(refused) if refused.status == 409 => eprintln!("{id} stays: a job needs it"),
                Some(refused) if refused.status == 404 => eprintln!("{id} stays: it is the operator's"),
                _ => return Err(error),
            },
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 7 * 86_400)];
    let seconds =
        units.iter().find_map(|(unit, seconds)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| String::from("write a number with s, m, h, d or w, as in 30d"))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let units = [("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1.0), ("", 1.0)];
    let bytes =
        units.iter().find_map(|(unit, bytes)| Some(upper.strip_suffix(unit)?.trim().parse::<f64>().ok()? * bytes));
    let fits = bytes.filter(|bytes| (0.0..1e18).contains(bytes));
    fits.map(|bytes| bytes as u64).ok_or_else(|| String::from("write a number with KB, MB, GB or TB, as in 50GB"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(unused_for: Option<u64>, max_bytes: Option<u64>) -> CacheArgs {
        #[derive(clap::Parser)]
        struct Parser {
            #[command(flatten)]
            args: CacheArgs,
        }
        let parsed = <Parser as clap::Parser>::parse_from(["cache"]).args;
        CacheArgs { unused_for: unused_for.map(Duration::from_secs), max_bytes, ..parsed }
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let model = |used: i64, bytes: u64| json!({"last_used_at": used, "bytes_done": bytes});
        let models = [model(100, 5), model(200, 4), model(300, 3)];
        let models: Vec<&Value> = models.iter().collect();
        let goes = |unused_for, max_bytes| chosen(&models, &args(unused_for, max_bytes), 310).len();
        assert_eq!(goes(None, None), 0);
        assert_eq!(goes(Some(110), None), 2);
        assert_eq!(goes(None, Some(12)), 0);
        assert_eq!(goes(None, Some(7)), 1);
        assert_eq!(goes(None, Some(2)), 3);
        assert_eq!(goes(Some(200), Some(3)), 2, "what goes for its age makes room");
    }

    #[test]
    fn ages_and_sizes_are_read_as_people_write_them() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(
            (parse_size("1.5GB"), parse_size("7"), parse_size("2 mb")),
            (Ok(1_500_000_000), Ok(7), Ok(2_000_000))
        );
        assert!(
            parse_age("30").is_err()
                && parse_age("d").is_err()
                && parse_size("-1").is_err()
                && parse_size("x").is_err()
        );
    }
}
