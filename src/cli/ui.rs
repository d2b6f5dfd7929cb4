//! `anneal ui`: opens the web page in a browser, signed in.

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use serde_json::json;

use super::output::print;
use super::remote::RemoteArgs;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal ui                                          open the page of the server on this machine
  ssh -fN -L 8080:127.0.0.1:8080 gpu-box; ssh gpu-box anneal ui --print
                                                     print the address, for a browser elsewhere

On a server with keys the address holds a code that signs one browser in, within 60 seconds; the session may do what your
key may, for 12 hours.")]
pub struct Args {
    /// Print the address, and open nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let link = client.post("/v1/sessions/links", &json!({}))?;
        let address = client.url(link["path"].as_str().unwrap_or("/"));
        if output.json {
            output.answer(&json!({"url": address, "expires_at": link["expires_at"]}), String::new);
            return Ok(ExitCode::SUCCESS);
        }
        print(&format!("{address}\n"));
        if !args.print && stdout().is_terminal() && open::that_detached(&address).is_err() {
            eprintln!("there is no browser here; open this address in one within 60 seconds");
        }
        Ok(ExitCode::SUCCESS)
    })
}
