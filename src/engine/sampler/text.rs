//! The text of a completion in the making, and the stop texts that end it.

use crate::text::tokenizer::{StreamDecoder, TextTokenizer, TokenizerError};

/// Text that grows token by token.
#[derive(Debug)]
pub struct Text {
    decoder: StreamDecoder,
    text: String,
    /// No stop text ends in this many first bytes.
    searched: usize,
}

impl Text {
    pub fn new() -> Self {
        Self { decoder: StreamDecoder::new(true), text: String::new(), searched: 0 }
    }

    /// Adds what `token` completes; bytes of an unfinished character wait for the next one.
    pub fn push(&mut self, tokenizer: &TextTokenizer, token: u32) -> Result<(), TokenizerError> {
        self.text.push_str(&self.decoder.push(tokenizer, token)?);
        Ok(())
    }

    /// Adds what still waits, when no token follows.
    pub fn flush(&mut self, tokenizer: &TextTokenizer) -> Result<(), TokenizerError> {
        self.text.push_str(&std::mem::take(&mut self.decoder).finish(tokenizer)?);
        Ok(())
    }

    /// Cuts the text before the first of `stops` in it and returns whether there was one. Called after every token,
    /// it looks only where a match may be new, so that a long completion is not searched again and again.
    pub fn cut(&mut self, stops: &[String]) -> bool {
        let find = |stop: &String| {
            // A new match ends in new text, and so begins at most this far before it.
            let from = self.text.floor_char_boundary((self.searched + 1).saturating_sub(stop.len()));
            self.text[from..].find(stop.as_str()).map(|at| from + at)
        };
        let first = stops.iter().filter_map(find).min();
        if let Some(at) = first {
            self.text.truncate(at);
        }
        self.searched = self.text.len();
        first.is_some()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn into_string(self) -> String {
        self.text
    }
}

/// Bytes at the end of `text` with which a stop text may begin.
pub fn held_back(text: &str, stops: &[String]) -> usize {
    let begun = |stop: &String| {
        let mut lengths = (1..stop.len()).rev().filter(|length| stop.is_char_boundary(*length));
        lengths.find(|length| text.ends_with(&stop[..*length]))
    };
    stops.iter().filter_map(begun).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A tokenizer whose tokens 0, 1, ... are `pieces`.
    fn tokenizer(pieces: &[&str]) -> TextTokenizer {
        let vocabulary: serde_json::Map<_, _> =
            pieces.iter().enumerate().map(|(id, piece)| ((*piece).to_owned(), json!(id))).collect();
        let file = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": pieces[0]},
        });
        TextTokenizer::from_hf_json(file.to_string().as_bytes()).unwrap()
    }

    /// The text and the number of tokens at which it stopped, if it did.
    fn read(pieces: &[&str], stops: &[&str]) -> (String, Option<usize>) {
        let mut distinct = pieces.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let tokenizer = tokenizer(&distinct);
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut text = Text::new();
        for (count, piece) in pieces.iter().enumerate() {
            text.push(&tokenizer, tokenizer.token_to_id(piece).unwrap()).unwrap();
            if text.cut(&stops) {
                return (text.into_string(), Some(count + 1));
            }
        }
        text.flush(&tokenizer).unwrap();
        (text.into_string(), None)
    }

    #[test]
    fn a_stop_text_may_span_tokens_and_begin_inside_one() {
        assert_eq!(read(&["one", " <", "en", "d>", "x"], &["<end>"]), (String::from("one "), Some(4)));
        assert_eq!(read(&["one", "\n\nQ: ", "x"], &["\nQ"]), (String::from("one\n"), Some(2)));
        assert_eq!(read(&["ab", "abc", "d"], &["babcd"]), (String::from("a"), Some(3)));
        assert_eq!(read(&["one", " <", "en", "d"], &["<end>"]), (String::from("one <end"), None));
    }

    #[test]
    fn the_first_match_cuts_whatever_the_order_of_the_stop_texts() {
        for stops in [["bc", "cd"], ["cd", "bc"]] {
            assert_eq!(read(&["a", "bcd"], &stops), (String::from("a"), Some(2)));
        }
    }

    #[test]
    fn characters_of_several_bytes_around_a_match_stay_whole() {
        assert_eq!(read(&["日", "本", "語", "です"], &["本語"]), (String::from("日"), Some(3)));
        assert_eq!(read(&["é", "é", "!"], &["!"]), (String::from("éé"), Some(3)));
    }

    proptest! {
        /// The same as looking through the whole text after every token.
        #[test]
        fn looking_at_the_new_part_finds_what_looking_at_all_finds(
            pieces in prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "ba", "aab", "é", "éa"]), 1..40),
            stops in prop::collection::vec("[abé]{1,6}", 1..4),
        ) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let mut whole = String::new();
            let mut expected = None;
            for (count, piece) in pieces.iter().enumerate() {
                whole.push_str(piece);
                if let Some(at) = stops.iter().filter_map(|stop| whole.find(stop)).min() {
                    whole.truncate(at);
                    expected = Some(count + 1);
                    break;
                }
            }
            prop_assert_eq!(read(&pieces, &stops), (whole, expected));
        }

        /// Whatever the model writes, no byte of a stop text leaves, and nothing else is lost.
        #[test]
        fn no_part_of_a_stop_text_leaves(
            pieces in prop::collection::vec("[abé]{1,3}", 1..20),
            stops in prop::collection::vec("[abé]{1,5}", 1..4),
        ) {
            let (mut text, mut told) = (String::new(), String::new());
            for piece in &pieces {
                text.push_str(piece);
                if let Some(at) = stops.iter().filter_map(|stop| text.find(stop.as_str())).min() {
                    text.truncate(at);
                    break;
                }
                let until = text.len() - held_back(&text, &stops);
                prop_assert!(until >= told.len());
                told = text[..until].to_owned();
            }
            prop_assert!(text.starts_with(&told), "{told:?} left, and {text:?} is the answer");
        }
    }
}
