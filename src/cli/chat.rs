//! `anneal chat`: talks to one model, or to several side by side.

use std::io::{BufRead, IsTerminal, stdin, stdout};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::client::Client;
use super::output::{Output, print, printable};
use super::remote::RemoteArgs;
use crate::config::Config;

/// Longest line that is read.
const MOST_BYTES: usize = 1 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal chat CHECKPOINT                         a conversation, a line at a time; Ctrl-D ends it
  anneal chat builtin:arith-tiny CHECKPOINT --raw    before and after, side by side
  echo '17+25=' | anneal chat CHECKPOINT --raw --temperature 0")]
pub struct Args {
    /// The models or checkpoints, one to three
    #[arg(required = true, num_args = 1..=3)]
    models: Vec<String>,
    /// Go on with each line as it is, without a conversation: for models without a chat template
    #[arg(long)]
    raw: bool,
    /// What is said before everything else
    #[arg(long, conflicts_with = "raw")]
    system: Option<String>,
    /// Sampling temperature, 0 to 2
    #[arg(long)]
    temperature: Option<f64>,
    /// Tokens of an answer, at most
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: u32,
    /// What all random choices follow from
    #[arg(long)]
    seed: Option<i64>,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let system = args.system.as_ref().map(|text| json!({"role": "system", "content": text}));
        let mut conversations: Vec<Vec<Value>> = vec![system.into_iter().collect(); args.models.len()];
        let asks = stdin().is_terminal() && stdout().is_terminal() && !output.json;
        let mut lines = stdin().lock();
        loop {
            if asks {
                print("> ");
            }
            let mut line = String::new();
            let read = std::io::Read::take(&mut lines, MOST_BYTES as u64).read_line(&mut line)?;
            if read == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            let said = line.trim_end_matches(['\n', '\r']);
            if said.is_empty() {
                continue;
            }
            for (model, conversation) in args.models.iter().zip(&mut conversations) {
                let text = answer(client, args, model, conversation, said)?;
                tell(output, args.models.len() > 1, model, said, &text);
            }
        }
    })
}

/// What a model says; its conversation goes on with it.
fn answer(
    client: &Client,
    args: &Args,
    model: &str,
    conversation: &mut Vec<Value>,
    said: &str,
) -> anyhow::Result<String> {
    let mut body = json!({"model": model, "max_tokens": args.max_tokens});
    body["temperature"] = args.temperature.map_or(Value::Null, Value::from);
    body["seed"] = args.seed.map_or(Value::Null, Value::from);
    if let Some(members) = body.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    if args.raw {
        body["prompt"] = json!(said);
        let completion = client.post("/v1/completions", &body)?;
        return Ok(completion["choices"][0]["text"].as_str().unwrap_or_default().to_owned());
    }
    conversation.push(json!({"role": "user", "content": said}));
    body["messages"] = json!(conversation);
    let completion = client.post("/v1/chat/completions", &body)?;
    let text = completion["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
    conversation.push(json!({"role": "assistant", "content": text}));
    Ok(text)
}

fn tell(output: Output, named: bool, model: &str, said: &str, text: &str) {
    let line = json!({"model": model, "prompt": said, "completion": text});
    output.line(&line, || {
        let name = if named { format!("{}: ", printable(model)) } else { String::new() };
        format!("{name}{}\n", printable(text))
    });
}
