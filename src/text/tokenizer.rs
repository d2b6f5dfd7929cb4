//! Text to token ids and back.
//!
//! Every tokenizer is a `tokenizer.json`, also one that came from GGUF, so there is one code path and an exported model
//! carries the very tokenizer it was trained with. Encoding never adds tokens: chat templates write their own.

use std::ops::Range;

use serde_json::Value;
use tokenizers::Tokenizer;

use crate::modelfile::gguf::{self, Metadata};
use crate::modelfile::{Inspection, ModelFileError};

/// Tokens that may wait for the rest of a character. A character has four bytes at most, so more than this are not
/// text, and waiting on would make each step cost more than the one before.
const HELD_LIMIT: usize = 32;

/// What texts consist of on which patterns are tried.
const TRIALS: [&str; 7] = ["a", " ", "\n", "1", "a1 ", "'s \u{e9}\u{4e00}.", "aB\r\n\t-"];
/// Long enough for a pattern whose steps grow with the square of a text, or worse, to be told from others.
const TRIAL_CHARACTERS: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    #[error("the tokenizer cannot be built")]
    Build(#[source] tokenizers::Error),
    #[error("the tokenizer places `{token}` at id {found:?}, not at {expected} as its file says")]
    MisplacedToken { token: String, expected: u32, found: Option<u32> },
    #[error("the text cannot be encoded")]
    Encode(#[source] tokenizers::Error),
    #[error("the tokens cannot be decoded")]
    Decode(#[source] tokenizers::Error),
    #[error("the pattern `{pattern}` cannot be used: {detail}")]
    Pattern { pattern: String, detail: String },
    #[error(transparent)]
    File(#[from] ModelFileError),
}

pub struct TextTokenizer {
    tokenizer: Tokenizer,
    json: String,
}

impl TextTokenizer {
    /// The tokenizer of an inspected model, whatever its format.
    pub fn from_inspection(inspection: &Inspection) -> Result<Self, TokenizerError> {
        Self::from_hf_json(&inspection.tokenizer_bytes)
    }

    pub fn from_gguf(metadata: &Metadata) -> Result<Self, TokenizerError> {
        Self::from_hf_json(&gguf::tokenizer_json(metadata)?)
    }

    /// Reads a `tokenizer.json`. Its truncation and padding are dropped: a prompt is never cut in silence.
    pub fn from_hf_json(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let json = str::from_utf8(bytes).map_err(|error| TokenizerError::Build(error.into()))?;
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(TokenizerError::Build)?;
        tokenizer.with_truncation(None).map_err(TokenizerError::Build)?;
        tokenizer.with_padding(None);
        let tokenizer = Self { tokenizer, json: json.to_owned() };
        tokenizer.check_added_tokens()?;
        Ok(tokenizer)
    }

    /// Tries all patterns of the tokenizer on texts on which patterns that look back and forth take longest. Where one takes
    /// too many steps, the library goes on without it, and tokens would be others than everywhere else.
    pub fn try_patterns(&self) -> Result<(), TokenizerError> {
        let file: Value = serde_json::from_str(&self.json).map_err(|error| TokenizerError::Build(error.into()))?;
        let texts = TRIALS.map(|unit| unit.repeat(TRIAL_CHARACTERS / unit.len()));
        for pattern in patterns(&file) {
            let failed = |error: fancy_regex::Error| TokenizerError::Pattern {
                pattern: pattern.chars().take(80).collect(),
                detail: error.to_string(),
            };
            let regex = fancy_regex::Regex::new(pattern).map_err(failed)?;
            for text in &texts {
                for found in regex.find_iter(text) {
                    found.map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// The ids of `text`. Special tokens written out in it, as `<|im_end|>`, become one id each; none is added.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(TokenizerError::Encode)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The ids of `text`, each with the bytes of the text that it stands for.
    pub fn encode_with_places(&self, text: &str) -> Result<Vec<(u32, Range<usize>)>, TokenizerError> {
        let encoding = self.tokenizer.encode(text, false).map_err(TokenizerError::Encode)?;
        let places = encoding.get_offsets().iter().map(|(start, end)| *start..*end);
        Ok(encoding.get_ids().iter().copied().zip(places).collect())
    }

    /// The text of `ids`. Bytes that are not UTF-8 become U+FFFD; ids outside the vocabulary are left out.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        self.tokenizer.decode(ids, skip_special).map_err(TokenizerError::Decode)
    }

    /// The ids of tokens that are no text, in order: marks of turns, of padding, reserved ones.
    pub fn special_tokens(&self) -> Vec<u32> {
        let added = self.tokenizer.get_added_tokens_decoder();
        let mut special: Vec<u32> = added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect();
        special.sort_unstable();
        special
    }

    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    pub fn id_to_token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// Whether both give every token the same number.
    pub fn same_tokens(&self, other: &Self) -> bool {
        self.tokenizer.get_vocab(true) == other.tokenizer.get_vocab(true)
    }

    /// Tokens in the vocabulary, added ones included. The model's embedding may have more rows.
    pub fn vocab_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// The `tokenizer.json` to export, byte for byte what the tokenizer was read from.
    pub fn to_json(&self) -> &str {
        &self.json
    }

    /// The library numbers added tokens itself and only logs where that differs from the file.
    fn check_added_tokens(&self) -> Result<(), TokenizerError> {
        #[derive(serde::Deserialize)]
        struct File {
            #[serde(default)]
            added_tokens: Vec<Added>,
        }
        #[derive(serde::Deserialize)]
        struct Added {
            id: u32,
            content: String,
        }
        let file: File = serde_json::from_str(&self.json).map_err(|error| TokenizerError::Build(error.into()))?;
        for Added { id, content } in file.added_tokens {
            let found = self.token_to_id(&content);
            if found != Some(id) {
                return Err(TokenizerError::MisplacedToken { token: content, expected: id, found });
            }
        }
        Ok(())
    }
}

/// The patterns of a `tokenizer.json`, wherever they stand in it.
fn patterns(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => {
            let own = members.get("Regex").and_then(Value::as_str);
            own.into_iter().chain(members.values().flat_map(patterns)).collect()
        }
        Value::Array(values) => values.iter().flat_map(patterns).collect(),
        _ => Vec::new(),
    }
}

/// Decodes one token at a time. The pieces and the rest joined are the text of all tokens; no piece ends inside a
/// character. The tokens since the last complete character are decoded again at each step, together with the piece
/// before them, because some tokenizers treat the first token of a text differently.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    skip_special: bool,
    window: Vec<u32>,
    /// How many tokens at the start of `window` are only there as context.
    context: usize,
    /// How many bytes of the decoded window have been given out.
    given: usize,
}

impl StreamDecoder {
    pub fn new(skip_special: bool) -> Self {
        Self { skip_special, ..Self::default() }
    }

    /// The text that `id` completes, often a word and sometimes nothing.
    pub fn push(&mut self, tokenizer: &TextTokenizer, id: u32) -> Result<String, TokenizerError> {
        self.window.push(id);
        let text = tokenizer.decode(&self.window, self.skip_special)?;
        let complete = text.trim_end_matches(char::REPLACEMENT_CHARACTER).len();
        let overdue = self.window.len() - self.context > HELD_LIMIT;
        // When overdue, only the last replacement character can still become something else.
        let held = if overdue { last_replacement(&text) } else { text.len() - complete };
        let piece = text.get(self.given..text.len() - held).unwrap_or_default().to_owned();
        self.given = self.given.max(text.len() - held);
        if overdue || (held == 0 && !piece.is_empty()) {
            self.window.drain(..self.context);
            self.context = self.window.len();
            let text = tokenizer.decode(&self.window, self.skip_special)?;
            self.given = if held == 0 { text.len() } else { text.len() - last_replacement(&text) };
        }
        Ok(piece)
    }

    /// What was held back, once no token follows.
    pub fn finish(self, tokenizer: &TextTokenizer) -> Result<String, TokenizerError> {
        let text = tokenizer.decode(&self.window, self.skip_special)?;
        Ok(text.get(self.given..).unwrap_or_default().to_owned())
    }
}

/// The length of a replacement character at the end of `text`.
fn last_replacement(text: &str) -> usize {
    if text.ends_with(char::REPLACEMENT_CHARACTER) { char::REPLACEMENT_CHARACTER.len_utf8() } else { 0 }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::modelfile::gguf::GgufValue;

    /// The 256 byte tokens in the order of GPT-2, then words, then two added tokens.
    fn metadata(pre: &str) -> Metadata {
        let printable = |byte: &u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        let (mut tokens, mut spare) = (Vec::new(), 0x100);
        for byte in 0..256u32 {
            let shown = if printable(&byte) { byte } else { spare };
            spare += u32::from(!printable(&byte));
            tokens.push(char::from_u32(shown).unwrap().to_string());
        }
        let merges = ["h e", "l l", "he ll", "hell o", "1 2", "12 3", "a .", ". b"];
        tokens.extend(merges.map(|merge| merge.replace(' ', "")));
        tokens.extend(["<|end|>".to_owned(), "<mine>".to_owned()]);
        let mut types = vec![1; tokens.len()];
        types[264..].copy_from_slice(&[3, 4]);
        Metadata::from([
            ("tokenizer.ggml.model".to_owned(), GgufValue::Text("gpt2".to_owned())),
            ("tokenizer.ggml.pre".to_owned(), GgufValue::Text(pre.to_owned())),
            ("tokenizer.ggml.tokens".to_owned(), GgufValue::Texts(tokens)),
            ("tokenizer.ggml.token_type".to_owned(), GgufValue::Integers(types)),
            ("tokenizer.ggml.merges".to_owned(), GgufValue::Texts(merges.map(str::to_owned).to_vec())),
        ])
    }

    pub fn tokenizer(pre: &str) -> TextTokenizer {
        TextTokenizer::from_gguf(&metadata(pre)).unwrap()
    }

    fn pieces(pre: &str, text: &str) -> Vec<String> {
        let tokenizer = tokenizer(pre);
        tokenizer.encode(text).unwrap().into_iter().map(|id| tokenizer.id_to_token(id).unwrap()).collect()
    }

    #[test]
    fn any_text_decodes_to_itself_under_every_pre_tokenizer() {
        let text = "hello  World's 12345\r\n\n\t naïve 日本語 🚀 <|end|>x<mine> \u{0} e";
        for pre in ["smollm", "gpt-2", "default", "llama-bpe", "qwen2"] {
            let tokenizer = tokenizer(pre);
            assert_eq!(tokenizer.decode(&tokenizer.encode(text).unwrap(), false).unwrap(), text, "{pre}");
        }
    }

    /// SentencePiece's other model: the pieces whose log-probabilities have the largest sum (Kudo 2018, arXiv:1804.10959).
    #[test]
    fn unigram_pieces_are_the_likeliest_together() {
        let vocabulary = serde_json::json!([
            ["<unk>", 0.0],
            ["\u{2581}", -3.0],
            ["\u{2581}ab", -4.0],
            ["ab", -5.0],
            ["a", -2.0],
            ["b", -2.5],
            ["c", -2.0],
            ["bc", -2.6],
            ["\u{2581}abc", -9.5],
            ["<0xF0>", -9.0],
            ["<0x9F>", -9.0],
            ["<0x9A>", -9.0],
            ["<0x80>", -9.0],
        ]);
        let file = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
            "post_processor": null,
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "\u{2581}"}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ]},
            "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": vocabulary},
        });
        let tokenizer = TextTokenizer::from_hf_json(file.to_string().as_bytes()).unwrap();
        let pieces = |text: &str| -> Vec<String> {
            tokenizer.encode(text).unwrap().into_iter().map(|id| tokenizer.id_to_token(id).unwrap()).collect()
        };
        // -4 - 2, and not -3 - 2 - 2.6 or -9.5.
        assert_eq!(pieces("abc"), ["\u{2581}ab", "c"]);
        assert_eq!(pieces("bc"), ["\u{2581}", "bc"]);
        assert_eq!(pieces("a\u{1f680}"), ["\u{2581}", "a", "<0xF0>", "<0x9F>", "<0x9A>", "<0x80>"]);
        assert_eq!(tokenizer.decode(&tokenizer.encode("abc bc\u{1f680}").unwrap(), false).unwrap(), "abc bc\u{1f680}");
    }

    #[test]
    fn each_pre_tokenizer_groups_digits_and_punctuation_in_its_own_way() {
        assert_eq!(pieces("smollm", "123"), ["1", "2", "3"]);
        assert_eq!(pieces("qwen2", "123"), ["1", "2", "3"]);
        assert_eq!(pieces("gpt-2", "1231"), ["123", "1"]);
        // Three digits from the left in Llama 3, wherever the model has a longer token.
        assert_eq!(pieces("llama-bpe", "1123"), ["1", "12", "3"].map(str::to_owned).to_vec());
        assert_eq!(pieces("default", "1123"), ["1", "12", "3"].map(str::to_owned).to_vec());
        assert_eq!(pieces("llama-bpe", ".b"), [".b"]);
        assert_eq!(pieces("default", ".b"), [".", "b"]);
    }

    #[test]
    fn special_tokens_in_a_text_are_one_id_and_can_be_left_out_of_decoded_text() {
        let tokenizer = tokenizer("smollm");
        let ids = tokenizer.encode("hello<|end|><mine>").unwrap();
        assert_eq!(ids[ids.len() - 2..], [264, 265]);
        assert_eq!(tokenizer.decode(&ids, true).unwrap(), "hello<mine>");
    }

    #[test]
    fn encoding_adds_no_first_token_even_where_the_file_asks_for_one() {
        let mut metadata = metadata("llama-bpe");
        metadata.insert("tokenizer.ggml.bos_token_id".to_owned(), GgufValue::Integer(264));
        let tokenizer = TextTokenizer::from_gguf(&metadata).unwrap();
        assert!(tokenizer.to_json().contains("TemplateProcessing"));
        assert_eq!(tokenizer.encode("hello").unwrap(), [259]);
        assert!(tokenizer.encode("").unwrap().is_empty());
    }

    #[test]
    fn truncation_and_padding_in_the_file_do_not_change_a_prompt() {
        let mut json: Value = serde_json::from_str(tokenizer("smollm").to_json()).unwrap();
        json["truncation"] = json!({"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"});
        let tokenizer = TextTokenizer::from_hf_json(json.to_string().as_bytes()).unwrap();
        assert_eq!(tokenizer.encode("123").unwrap().len(), 3);
    }

    #[test]
    fn an_added_token_at_another_id_than_the_file_says_is_refused() {
        let json = tokenizer("smollm").to_json().replace(r#""id":265"#, r#""id":270"#);
        let refused = TextTokenizer::from_hf_json(json.as_bytes());
        assert!(matches!(refused, Err(TokenizerError::MisplacedToken { expected: 270, .. })));
        assert!(matches!(TextTokenizer::from_hf_json(b"{}"), Err(TokenizerError::Build(_))));
    }

    fn stream(tokenizer: &TextTokenizer, ids: &[u32], skip_special: bool) -> (Vec<String>, String) {
        let mut decoder = StreamDecoder::new(skip_special);
        let pieces = ids.iter().map(|&id| decoder.push(tokenizer, id).unwrap()).collect();
        (pieces, decoder.finish(tokenizer).unwrap())
    }

    #[test]
    fn streamed_pieces_join_to_the_text_and_never_end_inside_a_character() {
        let tokenizer = tokenizer("smollm");
        let text = "hello 🚀🔥 日本<|end|> é";
        let ids = tokenizer.encode(text).unwrap();
        for skip_special in [false, true] {
            let (pieces, rest) = stream(&tokenizer, &ids, skip_special);
            assert!(pieces.iter().all(|piece| !piece.contains(char::REPLACEMENT_CHARACTER)));
            assert_eq!(pieces.concat() + &rest, tokenizer.decode(&ids, skip_special).unwrap());
            assert_eq!(rest, "");
        }
    }

    #[test]
    fn a_step_decodes_few_tokens_however_long_the_stream() {
        let tokenizer = tokenizer("smollm");
        for text in ["hello 🚀 ", "<|end|>"] {
            let mut decoder = StreamDecoder::new(true);
            for id in tokenizer.encode(&text.repeat(200)).unwrap() {
                decoder.push(&tokenizer, id).unwrap();
                assert!(decoder.window.len() <= 2 * (HELD_LIMIT + 1), "{text}");
            }
        }
    }

    #[test]
    fn an_unfinished_character_comes_out_at_the_end() {
        let tokenizer = tokenizer("smollm");
        let ids = tokenizer.encode("a🚀").unwrap();
        let (pieces, rest) = stream(&tokenizer, &ids[..3], false);
        assert_eq!((pieces.concat().as_str(), rest.as_str()), ("a", "\u{fffd}"));
    }

    #[test]
    fn a_long_run_of_broken_bytes_neither_waits_for_ever_nor_loses_the_character_after_it() {
        let tokenizer = tokenizer("smollm");
        for run in 30..70 {
            let mut ids = vec![0xff; run];
            ids.extend(tokenizer.encode("🚀日x").unwrap());
            let (pieces, rest) = stream(&tokenizer, &ids, false);
            assert_eq!(pieces.concat() + &rest, tokenizer.decode(&ids, false).unwrap(), "{run}");
            assert!(pieces[..run.min(35)].concat().len() > 60 || run < 34, "{run}");
        }
    }
}
