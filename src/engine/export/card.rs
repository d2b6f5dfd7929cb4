//! The model card of an export: what hubs read in front, in the form of Hugging Face's model cards, then what the model was
//! made from and what was found of it, for people.
//!
//! In front stands only what a hub takes: a base that it has itself, and a licence as the base's own card names it. Texts of
//! clients are shown letter by letter, so that none of them is markup.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ExportTask;
use crate::engine::artifact::write_file;
use crate::engine::error::EngineError;
use crate::job::provenance::{Dependency, FILE};
use crate::job::{ExportFormat, PassAtK};
use crate::modelfile::{LICENSES, read_limited};

/// Of a base's card, or of one of its licences.
const MOST_BYTES: u64 = 4 << 20;
/// Longest name of a licence, and longest address of one.
const MOST_NAME: usize = 64;
const MOST_LINK: usize = 400;

/// What a card says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Card {
    /// What the model is called.
    pub name: String,
    /// The objective, if the model was trained.
    pub objective: Option<String>,
    /// The adapter that was trained, as its spec has it; none where all weights were.
    pub adapter: Option<Value>,
    pub base: Base,
    /// All that the job read, in the order of their roles.
    pub inputs: Vec<Dependency>,
    /// The configuration of what scored completions.
    pub verifier: Option<Value>,
    pub evaluations: Vec<Evaluated>,
    /// The resolved spec, which the digest in the manifest is of.
    pub spec: Value,
}

/// The model with which training began, also if others came between.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Base {
    pub name: String,
    /// `owner/name` and its commit, if it came from the hub.
    pub repository: Option<String>,
    pub commit: Option<String>,
    /// Of its weights, hexadecimal.
    pub sha256: Option<String>,
    /// The folder with its own card and licence.
    pub folder: Option<PathBuf>,
}

/// What an evaluation found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evaluated {
    /// Which one: an evaluation's id, or after how many steps.
    pub what: String,
    /// The rows, `dsv_...` or a built-in.
    pub rows: String,
    pub prompts: u64,
    /// Completions of each prompt.
    pub samples: u32,
    pub pass_at: Vec<PassAtK>,
    pub reward_mean: f64,
}

/// Under what terms a base may be used, as its card says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct License {
    /// As the hub calls it: `apache-2.0`, `other`.
    id: String,
    name: Option<String>,
    /// An address, or a file beside the card.
    link: Option<String>,
}

impl License {
    /// Reads it off what stands in front of a card.
    fn of(card: &str) -> Option<Self> {
        let front = card.strip_prefix("---")?.split_once("\n---")?.0;
        let member = |name: &str| {
            let mut lines = front.lines().skip_while(|line| !line.starts_with(name));
            let value = lines.next()?.strip_prefix(name)?.trim();
            // One in a list stands on the next line.
            let value = if value.is_empty() { lines.next()?.trim().strip_prefix('-')?.trim() } else { value };
            Some(value.trim_matches(['"', '\'', '[', ']']).trim().to_owned())
        };
        let is_name = |text: &String| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
            !text.is_empty() && text.len() <= MOST_NAME && text.bytes().all(plain)
        };
        let is_link = |text: &String| {
            let is_address = text.starts_with("https://") && text.len() <= MOST_LINK;
            let plain =
                |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'`' | b'(' | b')');
            (is_address && text.bytes().all(plain)) || LICENSES.contains(&text.as_str())
        };
        Some(Self {
            id: member("license:").filter(is_name)?,
            name: member("license_name:").filter(is_name),
            link: member("license_link:").filter(is_link),
        })
    }
}

/// Puts the licences of the base beside the model, which mostly ask for that.
pub fn copy_licenses(task: &ExportTask) -> Result<(), EngineError> {
    let Some(base) = &task.card.base.folder else { return Ok(()) };
    for name in LICENSES {
        let (from, to) = (base.join(name), task.folder.join(name));
        if from.is_file() && !to.exists() {
            let unread = |error| EngineError::io("reading", &from, io::Error::other(error));
            write_file(&to, &read_limited(&from, MOST_BYTES).map_err(unread)?)?;
        }
    }
    Ok(())
}

/// The text of a card.
pub fn text(task: &ExportTask) -> String {
    // A base whose card cannot be read is one without a card.
    let card =
        task.card.base.folder.as_ref().and_then(|folder| read_limited(&folder.join("README.md"), MOST_BYTES).ok());
    let license = card.and_then(|card| License::of(&String::from_utf8_lossy(&card)));
    let mut text = front(task, license.as_ref());
    body(&mut text, task, license.as_ref());
    text
}

/// What hubs read.
fn front(task: &ExportTask, license: Option<&License>) -> String {
    let Card { base, objective, adapter, .. } = &task.card;
    let mut lines = vec![String::from("---")];
    if let Some(repository) = &base.repository {
        let relation = if task.export.format == ExportFormat::Adapter { "adapter" } else { "finetune" };
        lines.extend([format!("base_model: {}", json!(repository)), format!("base_model_relation: {relation}")]);
    }
    if let Some(License { id, name, link }) = license {
        lines.push(format!("license: {id}"));
        lines.extend(name.as_ref().map(|name| format!("license_name: {name}")));
        lines.extend(link.as_ref().map(|link| format!("license_link: {}", json!(link))));
    }
    lines.push(format!("library_name: {}", library(task.export.format)));
    lines.push(String::from("pipeline_tag: text-generation\ntags:\n- anneal"));
    lines.extend(objective.as_ref().map(|objective| format!("- {objective}")));
    lines.extend(adapter.as_ref().map(|_| String::from("- lora")));
    lines.push(String::from("---\n\n"));
    lines.join("\n")
}

fn library(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Adapter => "peft",
        ExportFormat::Merged => "transformers",
        ExportFormat::Gguf => "gguf",
    }
}

/// What people read.
fn body(text: &mut String, task: &ExportTask, license: Option<&License>) {
    let Card { name, objective, adapter, base, inputs, verifier, evaluations, spec } = &task.card;
    let manifest = &task.manifest;
    let what = match adapter {
        Some(_) => "An adapter trained beside",
        None => "A model trained from",
    };
    text.push_str(&format!("# {}\n\n{what} {}", plain(name), shown(base)));
    if let Some(objective) = objective {
        text.push_str(&format!(" with the objective `{objective}`, {} optimizer steps", manifest.step));
    }
    let version = env!("CARGO_PKG_VERSION");
    let numbers = task.export.dtype.map_or(String::new(), |dtype| format!(", with numbers of {dtype}"));
    text.push_str(&format!(
        ".\nMade by Anneal {version} as job `{}`, exported as `{}`{numbers}.\n\n## Use\n\n{}",
        manifest.job,
        task.export.format,
        usage(task)
    ));
    text.push_str(&format!("\n## Evaluations\n\n{}\n## Made from\n\n", evaluated(evaluations)));
    text.push_str("| role | what | digest |\n|---|---|---|\n");
    for Dependency { role, id, digest } in inputs {
        let digest = digest.as_ref().map_or(String::new(), |digest| format!("`{digest}`"));
        text.push_str(&format!("| {} | {} | {digest} |\n", code(role), code(id)));
    }
    if let Some(sha256) = &base.sha256 {
        text.push_str(&format!("| weights of the base | {} | `sha256:{sha256}` |\n", shown(base)));
    }
    text.push_str(&format!("| spec | below | `{}` |\n\n## Licence\n\n{}\n", manifest.spec_digest, terms(license)));
    if let Some(adapter) = adapter {
        text.push_str(&format!("## Adapter\n\n{}", block(adapter)));
    }
    text.push_str("## Verifier\n\n");
    match verifier {
        Some(verifier) => text.push_str(&block(verifier)),
        None => text.push_str("None scored completions.\n\n"),
    }
    text.push_str(&format!("## Spec\n\n{}", block(spec)));
}

/// Some JSON. No line of it begins with anything that would end the block.
fn block(value: &Value) -> String {
    format!("```json\n{value:#}\n```\n\n")
}

fn shown(base: &Base) -> String {
    match (&base.repository, &base.commit) {
        (Some(repository), Some(commit)) => format!("`hf:{repository}` at `{commit}`"),
        (Some(repository), None) => format!("`hf:{repository}`"),
        (None, _) => code(&base.name),
    }
}

fn terms(license: Option<&License>) -> String {
    match license {
        None => String::from("No licence of the base is known here; look for it where the base comes from.\n"),
        Some(License { id, name, link }) => {
            let name = name.as_ref().map_or(String::new(), |name| format!(", {name}"));
            let link = link.as_ref().map_or(String::new(), |link| format!(" ([terms]({link}))"));
            format!("The base is under `{id}`{name}{link}, by its own card.\n")
        }
    }
}

fn usage(task: &ExportTask) -> String {
    let base = task.card.base.repository.as_deref().unwrap_or("BASE");
    let load = match task.export.format {
        ExportFormat::Adapter => format!(
            "```python\nfrom peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\n\
             model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(\"{base}\"), \"FOLDER\")\n```\n"
        ),
        ExportFormat::Merged => String::from(
            "```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n\
             model, tokenizer = (of.from_pretrained(\"FOLDER\") for of in (AutoModelForCausalLM, AutoTokenizer))\n```\n",
        ),
        ExportFormat::Gguf => {
            let dtype = task.export.dtype.map_or(String::new(), |dtype| format!("-{dtype}"));
            format!("```sh\nllama-cli -m FOLDER/model{dtype}.gguf\n```\n")
        }
    };
    format!(
        "{load}\n`{FILE}` lists the files with their digests, signed by the server that made them. With that server's public \
         key (`/.well-known/jwks.json`) a downloaded folder is checked offline:\n\n\
         ```sh\nanneal verify FOLDER --key jwks.json\n```\n"
    )
}

fn evaluated(evaluations: &[Evaluated]) -> String {
    if evaluations.is_empty() {
        return String::from("Not evaluated.\n");
    }
    let mut text = String::from(
        "Held-out prompts; intervals of 95 % over prompts.\n\n\
         | evaluation | rows | prompts x completions | pass rate (interval) | mean reward |\n|---|---|---|---|---|\n",
    );
    for Evaluated { what, rows, prompts, samples, pass_at, reward_mean } in evaluations {
        let rates: Vec<String> = pass_at.iter().map(rate).collect();
        let (what, rows, rates) = (plain(what), code(rows), rates.join("<br>"));
        text.push_str(&format!("| {what} | {rows} | {prompts} x {samples} | {rates} | {reward_mean:.3} |\n"));
    }
    text
}

fn rate(of: &PassAtK) -> String {
    let low = of.low.unwrap_or(of.mean - of.half_width);
    let high = of.high.unwrap_or(of.mean + of.half_width);
    format!("pass@{} {:.3} ({low:.3} to {high:.3})", of.k, of.mean)
}

/// An id as such; what is none as a text of a client.
fn code(id: &str) -> String {
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'`' | b'|'));
    if is_id { format!("`{id}`") } else { plain(id) }
}

/// A text of a client as itself, whatever is in it: one line, with a backslash before each character that could be markup
/// (CommonMark, section 2.4), and without those that turn the direction of writing.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            '\u{2028}' | '\u{2029}' => shown.push(' '),
            c if c.is_control() => shown.push(' '),
            c if c.is_ascii_punctuation() && !matches!(c, '-' | ',') => shown.extend(['\\', c]),
            c => shown.push(c),
        }
    }
    shown.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_read_off_cards_and_nothing_else_is() {
        let card = |front: &str| License::of(&format!("---\n{front}\n---\n# A\nlicense: mit\n"));
        let license = |id: &str, name: Option<&str>, link: Option<&str>| {
            Some(License { id: id.to_owned(), name: name.map(str::to_owned), link: link.map(str::to_owned) })
        };
        assert_eq!(card("language: en\nlicense: apache-2.0"), license("apache-2.0", None, None));
        assert_eq!(card("license: 'mit'"), license("mit", None, None));
        assert_eq!(card("license:\n- mit\ntags: [a]"), license("mit", None, None));
        let own = "license: other\nlicense_name: qwen-research\nlicense_link: https://example.org/LICENSE";
        assert_eq!(card(own), license("other", Some("qwen-research"), Some("https://example.org/LICENSE")));
        assert_eq!(card("license: other\nlicense_link: LICENSE"), license("other", None, Some("LICENSE")));
        for odd in ["tags: x", "license:", "license: a\"b", "license: \"x: y\"", "license: <script>"] {
            assert_eq!(card(odd), None, "{odd}");
        }
        for link in ["javascript:alert(1)", "../../x", "https://a/\"b", "https://a/(b)"] {
            assert_eq!(card(&format!("license: mit\nlicense_link: {link}")), license("mit", None, None), "{link}");
        }
        assert_eq!(License::of("# A model\nlicense: mit\n"), None);
    }

    #[test]
    fn texts_of_clients_are_no_markup() {
        assert_eq!(plain("a-1.5"), r"a-1\.5");
        assert_eq!(plain("x\n---\n# y | [z](javascript:1) <b>"), r"x --- \# y \| \[z\]\(javascript\:1\) \<b\>");
        assert_eq!((code("builtin:a"), code("a`b"), code("a b")), ("`builtin:a`".into(), r"a\`b".into(), "a b".into()));
        assert_eq!(plain("\u{202e}evil\u{2069} `code`"), r"evil \`code\`");
    }

    #[test]
    fn intervals_are_shown_as_they_were_found() {
        assert_eq!(rate(&PassAtK::new(1, 0.41, 0.37, 0.46)), "pass@1 0.410 (0.370 to 0.460)");
        let older = PassAtK { low: None, high: None, ..PassAtK::new(4, 0.5, 0.4, 0.6) };
        assert_eq!(rate(&older), "pass@4 0.500 (0.400 to 0.600)");
    }
}
