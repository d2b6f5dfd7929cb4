//! `anneal files`: files as OpenAI's clients upload them.

use std::process::ExitCode;

use super::output::{Table, age, member, size};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: anneal files --json | jq -r '.data[] | select(.purpose == \"fine-tune\") | .id'")]
pub struct Args {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let list = args.page.list(client, "/v1/files", &[])?;
        output.answer(&list, || {
            let mut table = Table::new(&["ID", "PURPOSE", ">SIZE", "CREATED", "NAME"]);
            for file in items(&list) {
                let (bytes, created) = (size(file["bytes"].as_u64()), age(file["created_at"].as_i64()));
                table.row([member(file, "/id"), member(file, "/purpose"), bytes, created, member(file, "/filename")]);
            }
            table.text("there are no files")
        });
        tell_more(&list, output);
        Ok(ExitCode::SUCCESS)
    })
}
