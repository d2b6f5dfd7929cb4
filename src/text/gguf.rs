//! A tokenizer in the keys of GGUF, found by trial: of the ways that GGUF has names for, the first with which texts of many
//! kinds are cut into the same tokens as before.

use serde_json::Value;

use super::tokenizer::{TextTokenizer, TokenizerError};
use crate::modelfile::ModelFileError;
use crate::modelfile::gguf::{self, Kind, Metadata};

/// Texts on which ways to cut them differ: spaces, digits, cases, contractions, marks, scripts, composed characters, bytes
/// that no token has.
const PROBES: [&str; 12] = [
    "Hello, World! It's 3.14159 or 1234567890, isn't it? WE'LL see; they'Ve gone.",
    " two  spaces,   three\n\n\nnew lines\r\n\ttabs\t\tand trailing   ",
    "def f(x):\n    return x**2 + 10_000 # comment\n\n\nclass HTTPServer2(FooBar): pass",
    "\u{e9}t\u{e9} e\u{301}te\u{301} na\u{ef}ve \u{c5}ngstr\u{f6}m stra\u{df}e \u{130}stanbul \u{1e9e}",
    "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\u{3002}\u{3053}\u{3093}\u{306b}\u{3061}\u{306f} 123\u{4e07}",
    "\u{645}\u{631}\u{62d}\u{628}\u{627} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} \u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35}",
    "\u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{2603}\u{fe0f} \u{1d54f} \u{00a0}\u{2028}\u{feff}",
    "$x^2 + \\frac{1}{2} \\leq 10^{-3}$ <tag attr=\"v\">&amp;</tag> http://a.b/c?d=e&f=1#g",
    "'s 't 're 've 'm 'll 'd 'S 'T camelCaseWord SCREAMING_SNAKE \u{41f}\u{440}\u{438}\u{432}\u{435}\u{442} \u{39a}\u{3cc}\u{3c3}\u{3bc}\u{3b5}",
    "1 12 123 1234 12345 \u{0661}\u{0662}\u{0663} \u{00bd} \u{2167} v1.2.3-rc4 0x1F 1e-5",
    "",
    "a",
];

/// The metadata of a tokenizer for a model with so many rows of embeddings.
pub fn metadata(tokenizer: &TextTokenizer, rows: usize) -> Result<Metadata, TokenizerError> {
    let json: Value = serde_json::from_str(tokenizer.to_json()).map_err(|error| TokenizerError::Build(error.into()))?;
    for kind in gguf::kinds_of(&json) {
        let metadata = gguf::describe_tokenizer(&json, kind, rows)?;
        let written = TextTokenizer::from_gguf(&metadata)?;
        let same = match kind {
            // It has no tokens for other texts, and drops them where this one names them unknown.
            Kind::Characters => same_tokens(tokenizer, &written, &characters(&json))?,
            Kind::Bytes(_) | Kind::Pieces { .. } => {
                let mut same = true;
                for probe in PROBES {
                    same = same && same_tokens(tokenizer, &written, probe)?;
                }
                same
            }
        };
        if same {
            return Ok(metadata);
        }
    }
    let detail = String::from(
        "its tokenizer cuts texts in a way that GGUF has no name for; export it as `merged`, and convert that with the \
         programs of llama.cpp",
    );
    Err(ModelFileError::NotInGguf { detail }.into())
}

fn same_tokens(a: &TextTokenizer, b: &TextTokenizer, text: &str) -> Result<bool, TokenizerError> {
    Ok(a.encode(text)? == b.encode(text)?)
}

/// All single characters of a vocabulary, one after the other.
fn characters(tokenizer: &Value) -> String {
    let vocabulary = tokenizer["model"]["vocab"].as_object();
    vocabulary
        .into_iter()
        .flatten()
        .map(|(token, _)| token.as_str())
        .filter(|token| token.chars().count() == 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modelfile::inspect;

    #[test]
    fn a_vocabulary_of_characters_is_one_of_bytes_without_merges() {
        let inspection = inspect(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")).unwrap();
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let metadata = metadata(&tokenizer, 32).unwrap();
        let written = TextTokenizer::from_gguf(&metadata).unwrap();
        let ids = written.encode("12 + 3 = ?\n").unwrap();
        assert_eq!(ids, tokenizer.encode("12 + 3 = ?\n").unwrap());
        assert_eq!(written.decode(&ids, false).unwrap(), "12 + 3 = ?\n");
    }

    #[test]
    fn a_way_of_cutting_without_a_name_is_refused() {
        let json = serde_json::json!({
            "version": "1.0", "added_tokens": [], "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": {"A": 0, "a": 1}, "merges": []},
        });
        let tokenizer = TextTokenizer::from_hf_json(json.to_string().as_bytes()).unwrap();
        let error = metadata(&tokenizer, 2).unwrap_err();
        assert!(matches!(error, TokenizerError::File(ModelFileError::NotInGguf { .. })), "{error}");
    }
}
