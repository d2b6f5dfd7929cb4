//! A `tokenizer.json` in the keys of GGUF: the way back from [`super::tokenizer_json`].
//!
//! GGUF names the way in which texts are cut, where `tokenizer.json` spells it out, so that the right name is found by
//! trial: whoever writes a file takes the first of [`kinds_of`] with which what was written reads texts as before.

use std::collections::HashMap;

use serde_json::Value;

use super::{GgufValue, Metadata};
use crate::modelfile::ModelFileError;

/// The names of ways to cut texts, of those that are the same the usual one.
const CUTS: [&str; 10] =
    ["llama-bpe", "qwen2", "smollm", "gpt-2", "tekken", "gpt-4o", "dbrx", "deepseek-v3", "command-r", "default"];
/// Whole words in the vocabulary win over merges where texts are cut so.
const WHOLE: [&str; 3] = ["llama-bpe", "tekken", "gpt-4o"];
/// What a token is: ggml's numbers.
const TEXT: i64 = 1;
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const ADDED: i64 = 4;
const UNUSED: i64 = 5;
const BYTE: i64 = 6;

/// A way in which GGUF may have a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Byte-pair encoding of bytes, with the name of how texts are cut before.
    Bytes(&'static str),
    /// SentencePiece's, which puts a space in front of a text, or does not.
    Pieces { space_first: bool },
    /// Every character is a token.
    Characters,
}

/// The ways that may be that of a tokenizer, the likeliest first.
pub fn kinds_of(tokenizer: &Value) -> Vec<Kind> {
    let model = &tokenizer["model"];
    if model["type"] == "WordLevel" {
        vec![Kind::Characters]
    } else if model["byte_fallback"] == true {
        vec![Kind::Pieces { space_first: true }, Kind::Pieces { space_first: false }]
    } else if model["merges"].is_array() {
        let whole = model["ignore_merges"] == true;
        CUTS.into_iter().filter(|cut| WHOLE.contains(cut) == whole).map(Kind::Bytes).collect()
    } else {
        Vec::new()
    }
}

/// The metadata of a tokenizer for a model with so many rows of embeddings.
pub fn describe(tokenizer: &Value, kind: Kind, rows: usize) -> Result<Metadata, ModelFileError> {
    let model = &tokenizer["model"];
    let (tokens, types) = tokens(tokenizer, kind, rows)?;
    let mut metadata = Metadata::new();
    let mut set = |key: &str, value: GgufValue| metadata.insert(format!("tokenizer.ggml.{key}"), value);
    let text = |text: &str| GgufValue::Text(text.to_owned());
    match kind {
        Kind::Bytes(cut) => {
            set("model", text("gpt2"));
            set("pre", text(cut));
            let merges: Option<Vec<String>> =
                merges(model)?.map(|pair| pair.map(|(a, b)| format!("{a} {b}"))).collect();
            set("merges", GgufValue::Texts(merges.ok_or_else(|| invalid("a merge is not two tokens"))?));
        }
        Kind::Characters => {
            set("model", text("gpt2"));
            set("pre", text("gpt-2"));
            set("merges", GgufValue::Texts(Vec::new()));
        }
        Kind::Pieces { space_first } => {
            set("model", text("llama"));
            set("pre", text("default"));
            set("add_space_prefix", GgufValue::Bool(space_first));
            set("scores", GgufValue::Floats(scores(model, &tokens)?));
            let unknown = model["unk_token"].as_str().and_then(|unknown| tokens.iter().position(|t| t == unknown));
            unknown.map(|id| set("unknown_token_id", GgufValue::Integer(id as i128)));
        }
    }
    set("add_bos_token", GgufValue::Bool(adds_first(&tokenizer["post_processor"])));
    set("tokens", GgufValue::Texts(tokens));
    set("token_type", GgufValue::Integers(types));
    Ok(metadata)
}

/// The tokens by their ids with what they are. Rows of the model that no token has are filled up.
fn tokens(tokenizer: &Value, kind: Kind, rows: usize) -> Result<(Vec<String>, Vec<i64>), ModelFileError> {
    let vocabulary = tokenizer["model"]["vocab"].as_object().ok_or_else(|| invalid("its vocabulary is no object"))?;
    let mut known: HashMap<usize, (String, i64)> = HashMap::with_capacity(rows);
    let id = |id: &Value| id.as_u64().and_then(|id| usize::try_from(id).ok()).filter(|id| *id < rows);
    let outside = || invalid("a token's number lies outside the model's vocabulary");
    let unknown = tokenizer["model"]["unk_token"].as_str();
    for (token, number) in vocabulary {
        let is_byte = token.len() == 6 && token.starts_with("<0x") && token.ends_with('>');
        let what = match kind {
            Kind::Pieces { .. } if is_byte => BYTE,
            Kind::Pieces { .. } if unknown == Some(token) => UNKNOWN,
            Kind::Bytes(_) | Kind::Pieces { .. } | Kind::Characters => TEXT,
        };
        let token = match kind {
            Kind::Characters => token.bytes().map(byte_character).collect(),
            Kind::Bytes(_) | Kind::Pieces { .. } => token.clone(),
        };
        known.insert(id(number).ok_or_else(outside)?, (token, what));
    }
    for added in tokenizer["added_tokens"].as_array().into_iter().flatten() {
        let content = added["content"].as_str().unwrap_or_default();
        let is_unknown = matches!(kind, Kind::Pieces { .. }) && unknown == Some(content);
        let what = match added["special"].as_bool() {
            _ if is_unknown => UNKNOWN,
            Some(true) => CONTROL,
            Some(false) | None => ADDED,
        };
        known.insert(id(&added["id"]).ok_or_else(outside)?, (content.to_owned(), what));
    }
    Ok((0..rows).map(|id| known.remove(&id).unwrap_or_else(|| (format!("[PAD{id}]"), UNUSED))).unzip())
}

/// The pairs that become one token, the first to be applied first.
fn merges(model: &Value) -> Result<impl Iterator<Item = Option<(&str, &str)>>, ModelFileError> {
    let merges = model["merges"].as_array().ok_or_else(|| invalid("it has no merges"))?;
    Ok(merges.iter().map(|merge| match merge {
        Value::String(pair) => pair.split_once(' '),
        pair => Some((pair[0].as_str()?, pair[1].as_str()?)),
    }))
}

/// The scores of pieces: the sooner a piece is made, the better. What no merge makes comes behind.
fn scores(model: &Value, tokens: &[String]) -> Result<Vec<f64>, ModelFileError> {
    let mut made: HashMap<String, usize> = HashMap::new();
    for (rank, pair) in merges(model)?.enumerate() {
        let (left, right) = pair.ok_or_else(|| invalid("a merge is not two tokens"))?;
        made.entry(format!("{left}{right}")).or_insert(rank);
    }
    let last = made.values().copied().max().unwrap_or(0);
    let score = |(id, token): (usize, &String)| -(made.get(token).copied().unwrap_or(last + 1 + id) as f64);
    Ok(tokens.iter().enumerate().map(score).collect())
}

/// Whether a text begins with a token of its own.
fn adds_first(post_processor: &Value) -> bool {
    let steps =
        post_processor["processors"].as_array().map_or_else(|| std::slice::from_ref(post_processor), Vec::as_slice);
    steps.iter().any(|step| !step["single"][0]["SpecialToken"].is_null())
}

/// How byte-level vocabularies write a byte (GPT-2): printable ones as themselves, the others behind all of these.
fn byte_character(byte: u8) -> char {
    let is_itself = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    if is_itself(byte) {
        return byte.into();
    }
    let before = (0..byte).filter(|other| !is_itself(*other)).count() as u32;
    char::from_u32(256 + before).unwrap_or_default()
}

fn invalid(detail: &str) -> ModelFileError {
    ModelFileError::NotInGguf { detail: format!("its tokenizer: {detail}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tokenizer_json;
    use super::*;

    #[test]
    fn bytes_are_written_as_gpt_2_does() {
        for (byte, character) in [(b'A', 'A'), (b' ', '\u{120}'), (b'\n', '\u{10a}'), (0, '\u{100}'), (173, '\u{143}')]
        {
            assert_eq!(byte_character(byte), character);
        }
    }

    #[test]
    fn tokens_keep_their_numbers_and_what_they_are() {
        let tokenizer = json!({
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
            "added_tokens": [{"id": 4, "content": "<end>", "special": true}, {"id": 5, "content": "<mine>", "special": false}],
            "post_processor": {"processors": [{"single": [{"SpecialToken": {"id": "<end>"}}]}]},
        });
        let metadata = describe(&tokenizer, Kind::Bytes("qwen2"), 7).unwrap();
        let tokens = metadata["tokenizer.ggml.tokens"].as_texts().unwrap();
        assert_eq!(tokens, ["a", "b", "ab", "[PAD3]", "<end>", "<mine>", "[PAD6]"]);
        assert_eq!(metadata["tokenizer.ggml.token_type"], GgufValue::Integers(vec![1, 1, 1, 5, 3, 4, 5]));
        assert_eq!(metadata["tokenizer.ggml.add_bos_token"], GgufValue::Bool(true));
        let read: Value = serde_json::from_slice(&tokenizer_json(&metadata).unwrap()).unwrap();
        assert_eq!(read["model"]["merges"], tokenizer["model"]["merges"]);
        assert_eq!(describe(&tokenizer, Kind::Bytes("qwen2"), 5).unwrap_err().code(), "not_in_gguf");
    }

    #[test]
    fn pieces_get_scores_in_the_order_of_merges() {
        let tokenizer = json!({"model": {
            "type": "BPE", "byte_fallback": true, "unk_token": "<unk>",
            "vocab": {"<unk>": 0, "<0x0A>": 1, "a": 2, "b": 3, "c": 4, "bc": 5, "abc": 6}, "merges": ["b c", "a bc"],
        }});
        let metadata = describe(&tokenizer, kinds_of(&tokenizer)[0], 7).unwrap();
        assert_eq!(metadata["tokenizer.ggml.token_type"], GgufValue::Integers(vec![2, 6, 1, 1, 1, 1, 1]));
        let GgufValue::Floats(scores) = &metadata["tokenizer.ggml.scores"] else { panic!() };
        assert_eq!(scores[5..], [0.0, -1.0]);
        assert!(scores[..5].iter().all(|score| *score < -1.0));
        let read: Value = serde_json::from_slice(&tokenizer_json(&metadata).unwrap()).unwrap();
        assert_eq!(read["model"]["merges"], json!([["b", "c"], ["a", "bc"]]));
    }
}
