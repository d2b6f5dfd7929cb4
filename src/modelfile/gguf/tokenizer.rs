//! The tokenizer inside a GGUF file.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{GgufValue, Metadata};
use crate::modelfile::ModelFileError;

/// The vocabulary of a GGUF file as a `tokenizer.json` that Hugging Face tokenizers load. It is the same for the same
/// metadata, byte for byte, so a model exported after training keeps the tokenizer digest of the file it came from.
pub fn tokenizer_json(metadata: &Metadata) -> Result<Vec<u8>, ModelFileError> {
    let text = |key: &str| metadata.get(key).and_then(GgufValue::as_str);
    let unsupported = |detail: String| ModelFileError::UnsupportedTokenizer { detail };
    let tokens = || list(metadata, "tokenizer.ggml.tokens");
    let parts = match text("tokenizer.ggml.model") {
        Some("gpt2") => {
            let pre = text("tokenizer.ggml.pre").unwrap_or("(none is named)");
            let known = pre_tokenizer(pre);
            let known = known.ok_or_else(|| unsupported(format!("the GGUF pre-tokenizer `{pre}` is not read")))?;
            byte_level_bpe(metadata, tokens()?, known)?
        }
        Some("llama") => sentencepiece(metadata, tokens()?)?,
        Some(other) => {
            let detail = format!("the GGUF tokenizer model `{other}` is not read (gpt2 and llama are)");
            return Err(unsupported(detail));
        }
        None => return Err(ModelFileError::TokenizerMissing { detail: "it has no tokenizer.ggml.model".to_owned() }),
    };
    let Parts { normalizer, pre_tokenizer, decoder, model, adds_first } = parts;
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added_tokens(types(metadata, tokens()?)?, tokens()?),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor(metadata, tokens()?, adds_first),
        "decoder": decoder,
        "model": model,
    });
    Ok(tokenizer.to_string().into_bytes())
}

/// What of a `tokenizer.json` depends on the kind of vocabulary.
struct Parts {
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
    model: Value,
    /// Whether a text begins with a token of its own where the file says nothing of it.
    adds_first: bool,
}

fn list<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a [String], ModelFileError> {
    let values = metadata.get(key).and_then(GgufValue::as_texts);
    let detail = format!("the GGUF file has no list of texts {key}");
    values.ok_or(ModelFileError::TokenizerInvalid { detail })
}

fn vocabulary(tokens: &[String]) -> Result<serde_json::Map<String, Value>, ModelFileError> {
    let mut vocab = serde_json::Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocab.insert(token.clone(), json!(id)).is_some() {
            let detail = format!("token {id} of the GGUF vocabulary is there twice");
            return Err(ModelFileError::TokenizerInvalid { detail });
        }
    }
    Ok(vocab)
}

/// Byte-pair encoding of bytes (GPT-2), with the merges in the file.
fn byte_level_bpe(metadata: &Metadata, tokens: &[String], pre: PreTokenizer) -> Result<Parts, ModelFileError> {
    let merges = list(metadata, "tokenizer.ggml.merges")?.iter().map(|merge| match merge.split_once(' ') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => {
            Ok(json!([left, right]))
        }
        _ => {
            let detail = "a merge of the GGUF vocabulary is not two tokens".to_owned();
            Err(ModelFileError::TokenizerInvalid { detail })
        }
    });
    let merges = merges.collect::<Result<Vec<Value>, _>>()?;
    let PreTokenizer { steps, normalizer, ignore_merges, adds_first } = pre;
    Ok(Parts {
        normalizer,
        pre_tokenizer: steps,
        decoder: byte_level(true),
        model: json!({
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges,
            "vocab": vocabulary(tokens)?, "merges": merges,
        }),
        adds_first,
    })
}

/// SentencePiece's byte-pair encoding (arXiv 1808.06226): two pieces become one where that is a piece, the one with the
/// best score first. Spaces are written as `\u{2581}`, and what has no piece as its bytes.
fn sentencepiece(metadata: &Metadata, tokens: &[String]) -> Result<Parts, ModelFileError> {
    let flag = |key: &str| metadata.get(key).and_then(GgufValue::as_bool);
    if flag("tokenizer.ggml.remove_extra_whitespaces") == Some(true) {
        let detail = "the GGUF tokenizer removes spaces (remove_extra_whitespaces), which is not read".to_owned();
        return Err(ModelFileError::UnsupportedTokenizer { detail });
    }
    let scores = match metadata.get("tokenizer.ggml.scores") {
        Some(GgufValue::Floats(scores)) if scores.len() == tokens.len() => scores,
        _ => {
            let detail = "tokenizer.ggml.scores is not one number for each token".to_owned();
            return Err(ModelFileError::TokenizerInvalid { detail });
        }
    };
    let unknown = metadata.get("tokenizer.ggml.unknown_token_id").and_then(GgufValue::as_u64).unwrap_or(0);
    let unknown = usize::try_from(unknown).ok().and_then(|id| tokens.get(id));
    let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
    let mut normalizers = vec![replace(" ", SPACE)];
    let mut decoders = vec![replace(SPACE, " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
    if flag("tokenizer.ggml.add_space_prefix").unwrap_or(true) {
        normalizers.insert(0, json!({"type": "Prepend", "prepend": SPACE}));
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    Ok(Parts {
        normalizer: json!({"type": "Sequence", "normalizers": normalizers}),
        pre_tokenizer: Value::Null,
        decoder: json!({"type": "Sequence", "decoders": decoders}),
        model: json!({
            "type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": vocabulary(tokens)?, "merges": merges(tokens, scores, types(metadata, tokens)?),
        }),
        adds_first: true,
    })
}

/// How SentencePiece writes a space.
const SPACE: &str = "\u{2581}";

/// The kinds of all tokens; none where the file does not say. 1 are texts, 2 stands for the unknown, 3 controls, 4 are texts
/// that a user added, 6 bytes.
fn types<'a>(metadata: &'a Metadata, tokens: &[String]) -> Result<&'a [i64], ModelFileError> {
    match metadata.get("tokenizer.ggml.token_type") {
        Some(GgufValue::Integers(types)) if types.len() == tokens.len() => Ok(types),
        None => Ok(&[]),
        Some(_) => {
            let detail = "tokenizer.ggml.token_type is not one number for each token".to_owned();
            Err(ModelFileError::TokenizerInvalid { detail })
        }
    }
}

/// The pairs of pieces that make a piece of text, those that make one with a better score first, and of one piece those with
/// earlier pieces.
fn merges(tokens: &[String], scores: &[f64], types: &[i64]) -> Vec<Value> {
    let ids: HashMap<&str, usize> = tokens.iter().enumerate().map(|(id, token)| (token.as_str(), id)).collect();
    let is_text = |id: &usize| types.get(*id).is_none_or(|kind| matches!(kind, 1 | 4));
    let mut pieces: Vec<usize> = (0..tokens.len()).filter(is_text).collect();
    pieces.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let mut merges = Vec::new();
    for token in pieces.into_iter().map(|id| &tokens[id]) {
        let cuts = token.char_indices().skip(1).map(|(at, _)| token.split_at(at));
        let mut pairs: Vec<(usize, usize)> =
            cuts.filter_map(|(left, right)| Some((*ids.get(left)?, *ids.get(right)?))).collect();
        pairs.sort_unstable();
        merges.extend(pairs.into_iter().map(|(left, right)| json!([tokens[left], tokens[right]])));
    }
    merges
}

fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

/// How texts are cut before they are encoded.
struct PreTokenizer {
    steps: Value,
    normalizer: Value,
    /// Whole words in the vocabulary win over merges.
    ignore_merges: bool,
    adds_first: bool,
}

/// The pre-tokenizer that llama.cpp gives a name. `None` for a name that is not known: another split would give other
/// tokens without any error.
fn pre_tokenizer(name: &str) -> Option<PreTokenizer> {
    let split =
        |regex: &str| json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false});
    let sequence = |steps: Vec<Value>| json!({"type": "Sequence", "pretokenizers": steps});
    let cut = |patterns: &[&str]| {
        let steps = patterns.iter().map(|pattern| split(pattern)).chain([byte_level(false)]);
        sequence(steps.collect())
    };
    // These differ in how many digits make one piece,
    const REST: &str = r"\s*[\r\n]+|\s+(?!\S)|\s+";
    let words = |digits: &str| {
        let letters = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+";
        cut(&[&format!(r"{letters}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{REST}")])
    };
    // and these cut words where small letters end, too.
    let cases = |digits: &str, ending: &str| {
        let (start, upper, lower) =
            (r"[^\r\n\p{L}\p{N}]?", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]");
        let word = format!("{start}{upper}*{lower}+{ending}|{start}{upper}+{lower}*{ending}");
        cut(&[&format!(r"{word}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{REST}")])
    };
    let plain = |steps: Value| PreTokenizer { steps, normalizer: Value::Null, ignore_merges: false, adds_first: false };
    let nfc = |steps: Value| PreTokenizer { normalizer: json!({"type": "NFC"}), ..plain(steps) };
    let whole = |steps: Value| PreTokenizer { ignore_merges: true, ..plain(steps) };
    let digits = || sequence(vec![json!({"type": "Digits", "individual_digits": true}), byte_level(true)]);
    Some(match name {
        "smollm" | "refact" | "starcoder" => plain(digits()),
        "command-r" => nfc(digits()),
        "gpt-2" | "olmo" | "phi-2" => plain(byte_level(true)),
        // What llama.cpp does for this name: punctuation first, then the words of GPT-2, then digits in threes.
        "default" => {
            let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)";
            plain(cut(&[r"[\p{P}\$\+<=>\^~\|]+", gpt2, r"\p{N}+", "[0-9][0-9][0-9]"]))
        }
        "llama-bpe" | "llama3" | "llama-v3" => PreTokenizer { adds_first: true, ..whole(words(r"\p{N}{1,3}")) },
        "dbrx" | "smaug-bpe" => plain(words(r"\p{N}{1,3}")),
        "qwen2" | "deepseek-r1-qwen" => nfc(words(r"\p{N}")),
        "tekken" => whole(cases(r"\p{N}", "")),
        "gpt-4o" | "llama4" => whole(cases(r"\p{N}{1,3}", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?")),
        "deepseek-v3" => {
            let marks = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##;
            let rest = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*";
            let east = "[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+";
            plain(cut(&[r"\p{N}{1,3}", east, &format!("{marks}|{rest}|{REST}")]))
        }
        _ => return None,
    })
}

/// Controls, and the token for the unknown, are special; tokens that a user added are matched whole but stay in decoded
/// text.
fn added_tokens(types: &[i64], tokens: &[String]) -> Vec<Value> {
    let added = types.iter().zip(tokens).enumerate().filter(|(_, (kind, _))| matches!(kind, 2..=4));
    let entry = |(id, (kind, token)): (usize, (&i64, &String))| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": *kind != 4,
        })
    };
    added.map(entry).collect()
}

/// Puts the first token in front where the model's own tokenizer does; the engine encodes without it.
fn post_processor(metadata: &Metadata, tokens: &[String], adds_first: bool) -> Value {
    let adds_bos = metadata.get("tokenizer.ggml.add_bos_token").and_then(GgufValue::as_bool);
    let id = metadata.get("tokenizer.ggml.bos_token_id").and_then(GgufValue::as_u64);
    let bos = id.and_then(|id| Some((id, tokens.get(usize::try_from(id).ok()?)?)));
    let Some((id, token)) = bos.filter(|_| adds_bos.unwrap_or(adds_first)) else {
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

    fn metadata(pre: &str) -> Metadata {
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
        let json: Value = serde_json::from_slice(&tokenizer_json(&metadata("smollm")).unwrap()).unwrap();
        let added = json["added_tokens"].as_array().unwrap();
        assert_eq!((added[0]["id"].as_u64(), added[0]["special"].as_bool()), (Some(3), Some(true)));
        assert_eq!((added[1]["id"].as_u64(), added[1]["special"].as_bool()), (Some(4), Some(false)));
        assert_eq!(added.len(), 2);
    }

    #[test]
    fn a_vocabulary_that_cannot_be_split_as_its_authors_did_is_refused_by_name() {
        let error = tokenizer_json(&metadata("grok-2")).unwrap_err();
        assert_eq!(error.code(), "unsupported_tokenizer");
        assert!(error.to_string().contains("grok-2"));
        let with = |key: &str, value: GgufValue| {
            let mut metadata = metadata("default");
            metadata.insert(format!("tokenizer.ggml.{key}"), value);
            metadata
        };
        let t5 = with("model", GgufValue::Text("t5".to_owned()));
        assert_eq!(tokenizer_json(&t5).unwrap_err().code(), "unsupported_tokenizer");
        let without_scores = with("model", GgufValue::Text("llama".to_owned()));
        assert_eq!(tokenizer_json(&without_scores).unwrap_err().code(), "tokenizer_invalid");
        assert_eq!(tokenizer_json(&Metadata::new()).unwrap_err().code(), "tokenizer_missing");
    }
}
