//! The instructions with their arguments, and which check is behind each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whatlang::Lang;

use super::{layout, words};
use crate::job::field::{FieldError, Fields};

/// The longest text in an argument.
const MAX_CHARACTERS: usize = 4096;
const MAX_KEYWORDS: usize = 64;
const MAX_COUNT: i64 = 1 << 20;

/// One instruction: `id` is its family as IFEval names it, the other fields are its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "id", deny_unknown_fields)]
pub enum Instruction {
    /// Every keyword is there, in either case.
    #[serde(rename = "keywords:existence")]
    Existence {
        #[schemars(length(min = 1, max = MAX_KEYWORDS), inner(length(min = 1, max = MAX_CHARACTERS)))]
        keywords: Vec<String>,
    },
    /// How often a keyword is there, in either case.
    #[serde(rename = "keywords:frequency")]
    Frequency {
        #[schemars(length(min = 1, max = MAX_CHARACTERS))]
        keyword: String,
        #[schemars(range(min = 0, max = MAX_COUNT))]
        frequency: i64,
        #[serde(default)]
        relation: Relation,
    },
    /// None of these is there as a word, in either case.
    #[serde(rename = "keywords:forbidden_words")]
    ForbiddenWords {
        #[schemars(length(min = 1, max = MAX_KEYWORDS), inner(length(min = 1, max = MAX_CHARACTERS)))]
        forbidden_words: Vec<String>,
    },
    /// How often a letter is there, in either case.
    #[serde(rename = "keywords:letter_frequency")]
    LetterFrequency {
        #[schemars(length(min = 1, max = 1))]
        letter: String,
        #[schemars(range(min = 0, max = MAX_COUNT))]
        let_frequency: i64,
        #[serde(default)]
        let_relation: Relation,
    },
    /// The text is in this language, given by its code of ISO 639-1 or 639-3.
    #[serde(rename = "language:response_language")]
    Language {
        #[schemars(length(min = 2, max = 8))]
        language: String,
    },
    /// How many sentences there are.
    #[serde(rename = "length_constraints:number_sentences")]
    Sentences {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_sentences: i64,
        #[serde(default)]
        relation: Relation,
    },
    /// There are exactly so many paragraphs, told apart by `***`.
    #[serde(rename = "length_constraints:number_paragraphs")]
    Paragraphs {
        #[schemars(range(min = 1, max = MAX_COUNT))]
        num_paragraphs: i64,
    },
    /// How many words there are.
    #[serde(rename = "length_constraints:number_words")]
    Words {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_words: i64,
        #[serde(default)]
        relation: Relation,
    },
    /// There are exactly so many paragraphs, told apart by empty lines, and one of them begins with a word.
    #[serde(rename = "length_constraints:nth_paragraph_first_word")]
    FirstWord {
        #[schemars(range(min = 1, max = MAX_COUNT))]
        num_paragraphs: i64,
        #[schemars(range(min = 1, max = MAX_COUNT))]
        nth_paragraph: i64,
        #[schemars(length(min = 1, max = MAX_CHARACTERS))]
        first_word: String,
    },
    /// There are at least so many places such as `[address]`.
    #[serde(rename = "detectable_content:number_placeholders")]
    Placeholders {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_placeholders: i64,
    },
    /// There is a postscript that begins with the marker.
    #[serde(rename = "detectable_content:postscript")]
    Postscript {
        #[schemars(length(min = 1, max = MAX_CHARACTERS))]
        postscript_marker: String,
    },
    /// There are exactly so many points of lists that begin with `*` or `-`.
    #[serde(rename = "detectable_format:number_bullet_lists")]
    Bullets {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_bullets: i64,
    },
    /// One of `My answer is yes.`, `My answer is no.` and `My answer is maybe.` is there.
    #[serde(rename = "detectable_format:constrained_response")]
    Constrained {},
    /// At least so many parts are emphasised with asterisks.
    #[serde(rename = "detectable_format:number_highlighted_sections")]
    Highlights {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_highlights: i64,
    },
    /// There are at least so many sections, each begun by the word and a number.
    #[serde(rename = "detectable_format:multiple_sections")]
    Sections {
        /// The word; IFEval spells the argument so.
        #[schemars(length(min = 1, max = MAX_CHARACTERS))]
        section_spliter: String,
        #[schemars(range(min = 0, max = MAX_COUNT))]
        num_sections: i64,
    },
    /// The whole text is JSON, in a code fence or without one.
    #[serde(rename = "detectable_format:json_format")]
    Json {},
    /// There is a title such as `<<poem of joy>>`.
    #[serde(rename = "detectable_format:title")]
    Title {},
    /// There are two different answers, told apart by six asterisks.
    #[serde(rename = "combination:two_responses")]
    TwoResponses {},
    /// The text begins with this one, in either case.
    #[serde(rename = "combination:repeat_prompt")]
    RepeatPrompt {
        #[schemars(length(min = 1, max = 1 << 16))]
        prompt_to_repeat: String,
    },
    /// The text ends with this one, in either case.
    #[serde(rename = "startend:end_checker")]
    End {
        #[schemars(length(min = 1, max = MAX_CHARACTERS))]
        end_phrase: String,
    },
    /// The whole text stands in double quotation marks.
    #[serde(rename = "startend:quotation")]
    Quotation {},
    /// How many words are in capitals.
    #[serde(rename = "change_case:capital_word_frequency")]
    CapitalWords {
        #[schemars(range(min = 0, max = MAX_COUNT))]
        capital_frequency: i64,
        #[serde(default)]
        capital_relation: Relation,
    },
    /// English, all in capitals.
    #[serde(rename = "change_case:english_capital")]
    EnglishCapital {},
    /// English, all in small letters.
    #[serde(rename = "change_case:english_lowercase")]
    EnglishLowercase {},
    /// There is no comma.
    #[serde(rename = "punctuation:no_comma")]
    NoComma {},
}

/// How a count compares with the one that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Relation {
    #[default]
    #[serde(rename = "at least")]
    AtLeast,
    #[serde(rename = "less than")]
    LessThan,
    #[serde(rename = "at most")]
    AtMost,
    #[serde(rename = "exactly")]
    Exactly,
}

/// Counts are signed in arguments, so that a negative one is refused by its bound, where it stands.
fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Relation {
    fn holds(self, count: usize, wanted: i64) -> bool {
        let count = signed(count);
        match self {
            Self::AtLeast => count >= wanted,
            Self::LessThan => count < wanted,
            Self::AtMost => count <= wanted,
            Self::Exactly => count == wanted,
        }
    }
}

impl Instruction {
    /// Its family.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Existence { .. } => "keywords:existence",
            Self::Frequency { .. } => "keywords:frequency",
            Self::ForbiddenWords { .. } => "keywords:forbidden_words",
            Self::LetterFrequency { .. } => "keywords:letter_frequency",
            Self::Language { .. } => "language:response_language",
            Self::Sentences { .. } => "length_constraints:number_sentences",
            Self::Paragraphs { .. } => "length_constraints:number_paragraphs",
            Self::Words { .. } => "length_constraints:number_words",
            Self::FirstWord { .. } => "length_constraints:nth_paragraph_first_word",
            Self::Placeholders { .. } => "detectable_content:number_placeholders",
            Self::Postscript { .. } => "detectable_content:postscript",
            Self::Bullets { .. } => "detectable_format:number_bullet_lists",
            Self::Constrained {} => "detectable_format:constrained_response",
            Self::Highlights { .. } => "detectable_format:number_highlighted_sections",
            Self::Sections { .. } => "detectable_format:multiple_sections",
            Self::Json {} => "detectable_format:json_format",
            Self::Title {} => "detectable_format:title",
            Self::TwoResponses {} => "combination:two_responses",
            Self::RepeatPrompt { .. } => "combination:repeat_prompt",
            Self::End { .. } => "startend:end_checker",
            Self::Quotation {} => "startend:quotation",
            Self::CapitalWords { .. } => "change_case:capital_word_frequency",
            Self::EnglishCapital {} => "change_case:english_capital",
            Self::EnglishLowercase {} => "change_case:english_lowercase",
            Self::NoComma {} => "punctuation:no_comma",
        }
    }

    /// What neither types nor bounds say of the arguments.
    pub fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        if let Self::Language { language } = self
            && words::language(language).is_none()
        {
            let detail =
                format!("`{language}` cannot be told from other languages; use a code such as `en`, `de` or `hi`");
            return Err(vec![FieldError::new(format!("{pointer}/language"), "unknown_value", detail)]);
        }
        if let Self::FirstWord { num_paragraphs, nth_paragraph, .. } = self {
            let fits = nth_paragraph <= num_paragraphs;
            fields.require(fits, "nth_paragraph", "may not be more than `num_paragraphs`");
        }
        fields.finish()
    }

    /// Whether a text, which is not empty, follows it.
    pub fn is_followed(&self, text: &str) -> bool {
        match self {
            Self::Existence { keywords } => keywords.iter().all(|keyword| words::occurrences(text, keyword) > 0),
            Self::Frequency { keyword, frequency, relation } => {
                relation.holds(words::occurrences(text, keyword), *frequency)
            }
            Self::ForbiddenWords { forbidden_words } => !forbidden_words.iter().any(|word| words::has_word(text, word)),
            Self::LetterFrequency { letter, let_frequency, let_relation } => {
                let_relation.holds(words::occurrences(text, letter), *let_frequency)
            }
            Self::Language { language } => words::language(language).is_some_and(|wanted| words::is_in(text, wanted)),
            Self::Sentences { num_sentences, relation } => relation.holds(words::sentences(text), *num_sentences),
            Self::Paragraphs { num_paragraphs } => layout::divided(text, "***") == Some(*num_paragraphs),
            Self::Words { num_words, relation } => relation.holds(words::count(text), *num_words),
            Self::FirstWord { num_paragraphs, nth_paragraph, first_word } => {
                layout::begins_with(text, *num_paragraphs, *nth_paragraph, first_word)
            }
            Self::Placeholders { num_placeholders } => signed(layout::placeholders(text)) >= *num_placeholders,
            Self::Postscript { postscript_marker } => layout::has_postscript(text, postscript_marker),
            Self::Bullets { num_bullets } => signed(layout::bullets(text)) == *num_bullets,
            Self::Constrained {} => ["yes", "no", "maybe"].iter().any(|a| text.contains(&format!("My answer is {a}."))),
            Self::Highlights { num_highlights } => signed(layout::highlights(text)) >= *num_highlights,
            Self::Sections { section_spliter, num_sections } => {
                signed(layout::sections(text, section_spliter)) >= *num_sections
            }
            Self::Json {} => layout::is_json(text),
            Self::Title {} => layout::has_title(text),
            Self::TwoResponses {} => layout::has_two_responses(text),
            Self::RepeatPrompt { prompt_to_repeat } => {
                text.trim().to_lowercase().starts_with(&prompt_to_repeat.trim().to_lowercase())
            }
            Self::End { end_phrase } => {
                text.trim().trim_matches('"').to_lowercase().ends_with(&end_phrase.trim().to_lowercase())
            }
            Self::Quotation {} => {
                let text = text.trim();
                text.len() > 1 && text.starts_with('"') && text.ends_with('"')
            }
            Self::CapitalWords { capital_frequency, capital_relation } => {
                capital_relation.holds(words::capital_words(text), *capital_frequency)
            }
            Self::EnglishCapital {} => words::is_upper(text) && words::is_in(text, Lang::Eng),
            Self::EnglishLowercase {} => words::is_lower(text) && words::is_in(text, Lang::Eng),
            Self::NoComma {} => !text.contains(','),
        }
    }
}
