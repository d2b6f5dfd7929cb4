//! `anneal completions`: a script that completes commands in a shell.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use super::output::print;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal completions bash > ~/.local/share/bash-completion/completions/anneal
  anneal completions zsh > \"${fpath[1]}/_anneal\"
  anneal completions fish > ~/.config/fish/completions/anneal.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut super::command(), "anneal", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
