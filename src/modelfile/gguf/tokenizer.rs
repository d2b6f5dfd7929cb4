//! The tokenizer inside a GGUF file.

use serde_json::{Value, json};

use super::{GgufValue, Metadata};
use crate::modelfile::ModelFileError;

/// The vocabulary of a GGUF file as a `tokenizer.json` that Hugging Face tokenizers load. It is the same for the same
/// metadata, byte for byte, so a model exported after training keeps the tokenizer digest of the file it came from.
pub fn tokenizer_json(metadata: &Metadata) -> Result<Vec<u8>, ModelFileError> {
    let text = |key: &str| metadata.get(key).and_then(GgufValue::as_str);
    let invalid = |detail: String| ModelFileError::TokenizerInvalid { detail };
    let unsupported = |detail: String| ModelFileError::UnsupportedTokenizer { detail };
    match text("tokenizer.ggml.model") {
        Some("gpt2") => {}
        Some(other) => return Err(unsupported(format!("the GGUF tokenizer model `{other}` is not read (gpt2 is)"))),
        None => return Err(ModelFileError::TokenizerMissing { detail: "it has no tokenizer.ggml.model".to_owned() }),
    }
    let list = |key: &str| {
        let values = metadata.get(key).and_then(GgufValue::as_texts);
        values.ok_or_else(|| invalid(format!("the GGUF file has no list of texts {key}")))
    };
    let tokens = list("tokenizer.ggml.tokens")?;
    let pre = text("tokenizer.ggml.pre").unwrap_or("(none is named)");
    let Some((pre_tokenizer, normalizer, ignore_merges)) = pre_tokenizer(pre) else {
        return Err(unsupported(format!("the GGUF pre-tokenizer `{pre}` is not read")));
    };
    let mut vocab = serde_json::Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocab.insert(token.clone(), json!(id)).is_some() {
            return Err(invalid(format!("token {id} of the GGUF vocabulary is there twice")));
        }
    }
    let merges = list("tokenizer.ggml.merges")?.iter().map(|merge| match merge.split_once(' ') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => {
            Ok(json!([left, right]))
        }
        _ => Err(invalid("a merge of the GGUF vocabulary is not two tokens".to_owned())),
    });
    let merges = merges.collect::<Result<Vec<Value>, _>>()?;
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added_tokens(metadata, tokens).map_err(invalid)?,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor(metadata, tokens, pre),
        "decoder": byte_level(true),
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges,
            "vocab": vocab, "merges": merges,
        },
    });
    Ok(tokenizer.to_string().into_bytes())
}

fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

/// Pre-tokenizer, normalizer and whether whole words in the vocabulary win over merges, by the name that llama.cpp
/// gives them. `None` for a name that is not known: another split would give other tokens without any error.
fn pre_tokenizer(name: &str) -> Option<(Value, Value, bool)> {
    let split =
        |regex: &str| json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false});
    let sequence = |steps: Vec<Value>| json!({"type": "Sequence", "pretokenizers": steps});
    // Llama 3 and Qwen 2 differ only in how many digits make one piece.
    let words = |digits: &str| {
        let letters = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+";
        let others = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        sequence(vec![split(&format!("{letters}|{digits}|{others}")), byte_level(false)])
    };
    match name {
        "smollm" => {
            let digits = json!({"type": "Digits", "individual_digits": true});
            Some((sequence(vec![digits, byte_level(true)]), Value::Null, false))
        }
        "gpt-2" => Some((byte_level(true), Value::Null, false)),
        // What llama.cpp does for this name: punctuation first, then the words of GPT-2, then digits in threes.
        "default" => {
            let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)";
            let patterns = [r"[\p{P}\$\+<=>\^~\|]+", gpt2, r"\p{N}+", "[0-9][0-9][0-9]"];
            let steps = patterns.into_iter().map(split).chain([byte_level(false)]);
            Some((sequence(steps.collect()), Value::Null, false))
        }
        "llama-bpe" => Some((words(r"\p{N}{1,3}"), Value::Null, true)),
        "qwen2" => Some((words(r"\p{N}"), json!({"type": "NFC"}), false)),
        _ => None,
    }
}

/// Control tokens (type 3) are special; tokens that a user added (type 4) are matched whole but stay in decoded text.
fn added_tokens(metadata: &Metadata, tokens: &[String]) -> Result<Vec<Value>, String> {
    let types: &[i64] = match metadata.get("tokenizer.ggml.token_type") {
        Some(GgufValue::Integers(types)) if types.len() == tokens.len() => types,
        None => &[],
        Some(_) => return Err("tokenizer.ggml.token_type is not one number for each token".to_owned()),
    };
    let added = types.iter().zip(tokens).enumerate().filter(|(_, (kind, _))| matches!(kind, 3 | 4));
    Ok(added
        .map(|(id, (kind, token))| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": *kind == 3,
            })
        })
        .collect())
}

/// Puts the first token in front where the model's own tokenizer does; the engine encodes without it.
fn post_processor(metadata: &Metadata, tokens: &[String], pre: &str) -> Value {
    let adds_bos = metadata.get("tokenizer.ggml.add_bos_token").and_then(GgufValue::as_bool);
    let id = metadata.get("tokenizer.ggml.bos_token_id").and_then(GgufValue::as_u64);
    let bos = id.and_then(|id| Some((id, tokens.get(usize::try_from(id).ok()?)?)));
    let Some((id, token)) = bos.filter(|_| adds_bos.unwrap_or(pre == "llama-bpe")) else {
        return Value::Null;
    };
    let (first, text) =
        (json!({"SpecialToken": {"id": token, "type_id": 0}}), json!({"Sequence": {"id": "A", "type_id": 0}}));
    let second = json!({"Sequence": {"id": "B", "type_id": 0}});
    let mut special_tokens = serde_json::Map::new();
    special_tokens.insert(token.clone(), json!({"id": token, "ids": [id], "tokens": [token]}));
    json!({
        "type": "TemplateProcessing", "single": [first, text], "pair": [first, text, second],
        "special_tokens": special_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(pre: &str) -> Metadata {
        let texts = |items: &[&str]| GgufValue::Texts(items.iter().map(|&item| item.to_owned()).collect());
        Metadata::from([
            ("tokenizer.ggml.model".to_owned(), GgufValue::Text("gpt2".to_owned())),
            ("tokenizer.ggml.pre".to_owned(), GgufValue::Text(pre.to_owned())),
            ("tokenizer.ggml.tokens".to_owned(), texts(&["a", "b", "ab", "<end>", "<mine>"])),
            ("tokenizer.ggml.token_type".to_owned(), GgufValue::Integers(vec![1, 1, 1, 3, 4])),
            ("tokenizer.ggml.merges".to_owned(), texts(&["a b"])),
        ])
    }

    #[test]
    fn control_tokens_become_special_and_user_tokens_do_not() {
        let json: Value = serde_json::from_slice(&tokenizer_json(&vocabulary("smollm")).unwrap()).unwrap();
        let added = json["added_tokens"].as_array().unwrap();
        assert_eq!((added[0]["id"].as_u64(), added[0]["special"].as_bool()), (Some(3), Some(true)));
        assert_eq!((added[1]["id"].as_u64(), added[1]["special"].as_bool()), (Some(4), Some(false)));
        assert_eq!(added.len(), 2);
    }

    #[test]
    fn a_vocabulary_that_cannot_be_split_as_its_authors_did_is_refused_by_name() {
        let error = tokenizer_json(&vocabulary("tekken")).unwrap_err();
        assert_eq!(error.code(), "unsupported_tokenizer");
        assert!(error.to_string().contains("tekken"));
        let mut sentencepiece = vocabulary("default");
        sentencepiece.insert("tokenizer.ggml.model".to_owned(), GgufValue::Text("llama".to_owned()));
        assert_eq!(tokenizer_json(&sentencepiece).unwrap_err().code(), "unsupported_tokenizer");
        assert_eq!(tokenizer_json(&Metadata::new()).unwrap_err().code(), "tokenizer_missing");
    }
}
