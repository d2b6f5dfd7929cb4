//! `anneal webhooks`: who is told of what happens, and whether it arrived.

use std::process::ExitCode;

use super::client::escape;
use super::output::{Table, age, member};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal webhooks                          the endpoints
  anneal webhooks --deliveries we_...      what was sent to one of them, the newest first

Endpoints are made with POST /v1/webhook_endpoints or on the web page (anneal ui).")]
pub struct Args {
    /// Show what was sent to this endpoint
    #[arg(long, value_name = "ENDPOINT")]
    deliveries: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let path = match &args.deliveries {
            Some(endpoint) => format!("/v1/webhook_endpoints/{}/deliveries", escape(endpoint)),
            None => String::from("/v1/webhook_endpoints"),
        };
        let list = args.page.list(client, &path, &[])?;
        output.answer(&list, || match args.deliveries {
            Some(_) => {
                let mut table = Table::new(&["ID", "TYPE", "STATUS", ">ATTEMPTS", "MADE"]);
                for delivery in items(&list) {
                    let text = |pointer| member(delivery, pointer);
                    let made = age(delivery["created_at"].as_i64());
                    table.row([text("/id"), text("/type"), text("/status"), text("/attempt_count"), made]);
                }
                table.text("nothing was sent to it")
            }
            None => {
                let mut table = Table::new(&["ID", "ENABLED", "URL", "WHY NOT"]);
                for endpoint in items(&list) {
                    let text = |pointer| member(endpoint, pointer);
                    table.row([text("/id"), text("/enabled"), text("/url"), text("/disabled_reason")]);
                }
                table.text("nobody is told of anything")
            }
        });
        tell_more(&list, output);
        Ok(ExitCode::SUCCESS)
    })
}
