//! Tests of constraints: every family of instructions, and what is refused.

use serde_json::{Map, Value, json};

use crate::verifier::{self, Case, Outside, Score, ScoreStatus};

fn score(mut config: Value, row: &Value, completion: &str) -> Score {
    config["type"] = json!("constraints");
    let case = Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() };
    verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
}

/// Whether a text follows one instruction, given as an id and its arguments.
fn follows(id: &str, arguments: &str, text: &str) -> bool {
    score(json!({"instructions": [instruction(id, arguments)]}), &json!({}), text).reward == 1.0
}

fn instruction(id: &str, arguments: &str) -> Value {
    let mut instruction: Value = serde_json::from_str(arguments).unwrap();
    instruction["id"] = json!(id);
    instruction
}

const ENGLISH: &str = "The weather was nice and the children were playing in the garden behind the old house.";

/// Each family with its arguments, texts that follow it and texts that do not.
const FAMILIES: &[(&str, &str, &[&str], &[&str])] = &[
    ("keywords:existence", r#"{"keywords": ["Sun", "moon"]}"#, &["the MOON and the sunset"], &["the sun", ""]),
    (
        "keywords:frequency",
        r#"{"keyword": "ab", "frequency": 2, "relation": "at least"}"#,
        &["ab Ab", "cabab"],
        &["ab"],
    ),
    ("keywords:frequency", r#"{"keyword": "ab", "frequency": 2, "relation": "less than"}"#, &["ab", "x"], &["ab ab"]),
    ("keywords:forbidden_words", r#"{"forbidden_words": ["cat", "dog"]}"#, &["concatenate dogs"], &["a Cat.", "dog"]),
    (
        "keywords:letter_frequency",
        r#"{"letter": "e", "let_frequency": 3, "let_relation": "at least"}"#,
        &["eEe"],
        &["ee"],
    ),
    (
        "language:response_language",
        r#"{"language": "de"}"#,
        &["Das ist ein langer Satz in deutscher Sprache, den man erkennt."],
        &[ENGLISH],
    ),
    (
        "language:response_language",
        r#"{"language": "hi"}"#,
        &["यह हिन्दी में लिखा हुआ एक वाक्य है और इसे पहचाना जा सकता है।"],
        &[ENGLISH],
    ),
    ("language:response_language", r#"{"language": "ta"}"#, &["இது தமிழில் எழுதப்பட்ட ஒரு வாக்கியம்."], &[ENGLISH]),
    (
        "length_constraints:number_sentences",
        r#"{"num_sentences": 3, "relation": "less than"}"#,
        &["One. Two!"],
        &["One. Two! Three?"],
    ),
    (
        "length_constraints:number_sentences",
        r#"{"num_sentences": 2, "relation": "exactly"}"#,
        &["Dr. J. Doe paid 3.50, e.g. today. \"Why?\" he asked.", "これは文です。これも。", "One... Two"],
        &["One.", "One. Two. Three."],
    ),
    (
        "length_constraints:number_paragraphs",
        r#"{"num_paragraphs": 2}"#,
        &["a\n***\nb", "a***b", "***a\n***\nb***"],
        &["a", "a***b***c", "a***  ***b"],
    ),
    (
        "length_constraints:number_words",
        r#"{"num_words": 4, "relation": "at least"}"#,
        &["a b c d", "it's-so fine"],
        &["a b c", "a , - ."],
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        r#"{"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"}"#,
        &["a\n\n\"then, b", "a\n\nthen\n\n\n\n"],
        &["a\n\nb then", "a\n\nthen\n\nc", "then", "a\n\n\n\nthen b", "\n\na\n\nthen", "a\n\n\"'then"],
    ),
    ("detectable_content:number_placeholders", r#"{"num_placeholders": 2}"#, &["[a] [b c]"], &["[a]", "[a [b]"]),
    ("detectable_content:postscript", r#"{"postscript_marker": "P.S."}"#, &["Hi\nP.S. one", "p. s. two"], &["PS: one"]),
    (
        "detectable_content:postscript",
        r#"{"postscript_marker": "P.P.S"}"#,
        &["Hi\nP.P.S one", "P. P. S. x"],
        &["P.S. one"],
    ),
    (
        "detectable_format:number_bullet_lists",
        r#"{"num_bullets": 2}"#,
        &["* a\n- b", "  * a\nx\n* b"],
        &["* a", "* a\n* b\n- c", "**a**\n* b"],
    ),
    ("detectable_format:constrained_response", r#"{}"#, &["Well. My answer is maybe."], &["My answer is perhaps."]),
    (
        "detectable_format:number_highlighted_sections",
        r#"{"num_highlights": 2}"#,
        &["*a* and **b c**", "***bold italic***", "*a* *b*"],
        &["*a*", "** ** * *", "*a\nb* *c*"],
    ),
    (
        "detectable_format:multiple_sections",
        r#"{"section_spliter": "Section", "num_sections": 2}"#,
        &["Section 1\na\nSection 2\nb"],
        &["Section one, Section 2"],
    ),
    (
        "detectable_format:json_format",
        r#"{}"#,
        &["{\"a\": 1}", "```json\n[1]\n```", "3", "```json {\"a\":1}```", "```JSON\n{\"a\": NaN}", "[1]\n```"],
        &["{a: 1}", "JSON: {}", "```python\n{\"a\": 1}\n```"],
    ),
    ("detectable_format:title", r#"{}"#, &["<<joy>>\ntext", "<< >> <<a>>"], &["<joy>", "<<>>", "<<a\nb>>"]),
    ("combination:two_responses", r#"{}"#, &["a\n******\nb"], &["a", "a******a", "a******b******c"]),
    ("combination:repeat_prompt", r#"{"prompt_to_repeat": "Say it."}"#, &[" say it. Yes"], &["Yes. Say it."]),
    ("startend:end_checker", r#"{"end_phrase": "The End."}"#, &["so\nthe end.", "\"the end.\""], &["the end. Or"]),
    ("startend:quotation", r#"{}"#, &["\"all\"", " \"a\" and \"b\" "], &["\"", "\"a", "a"]),
    (
        "change_case:capital_word_frequency",
        r#"{"capital_frequency": 2, "capital_relation": "at least"}"#,
        &["A GREAT day"],
        &["A great day"],
    ),
    (
        "change_case:english_capital",
        r#"{}"#,
        &["THE WEATHER WAS NICE AND THE CHILDREN WERE PLAYING."],
        &[ENGLISH, "DAS WETTER WAR SCHÖN UND DIE KINDER SPIELTEN IM GARTEN."],
    ),
    ("change_case:english_lowercase", r#"{}"#, &["the weather was nice and the children were playing."], &[ENGLISH]),
    ("punctuation:no_comma", r#"{}"#, &["a; b"], &["a, b"]),
];

#[test]
fn every_family_is_followed_by_the_texts_that_do_and_by_no_others() {
    for (id, arguments, right, wrong) in FAMILIES {
        for text in *right {
            assert!(follows(id, arguments, text), "{id} {arguments} {text:?}");
        }
        for text in wrong.iter().chain(&["", " \n"]) {
            assert!(!follows(id, arguments, text), "{id} {arguments} {text:?}");
        }
    }
}

#[test]
fn rows_of_ifeval_are_read_as_they_are() {
    let config = || json!({"ids_column": "instruction_id_list", "kwargs_column": "kwargs"});
    let row = json!({
        "key": 1000, "prompt": "…",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{"num_words": null, "relation": null}, {"num_words": 3, "relation": "at least", "keywords": null}],
    });
    let half = score(config(), &row, "one two");
    assert_eq!((half.reward, half.parts.len()), (0.5, 2));
    assert_eq!(half.parts[1].name, "length_constraints_number_words");
    assert!(half.detail.unwrap().contains("number_words"));
    let mut all = config();
    all["reward"] = json!("all");
    all["instructions"] = json!([{"id": "startend:quotation"}]);
    assert_eq!(score(all.clone(), &row, "\"one two three\"").reward, 1.0);
    assert_eq!(score(all, &row, "one two three").reward, 0.0);
}

#[test]
fn a_row_that_cannot_be_checked_is_an_error_and_says_why() {
    let config = || json!({"ids_column": "ids", "kwargs_column": "kwargs"});
    for (ids, kwargs, reason) in [
        (json!(["a:b"]), json!([{}]), "a:b"),
        (json!(["language:response_language"]), json!([{"language": "sw"}]), "sw"),
        (json!(["length_constraints:number_words"]), json!([{"relation": "at least"}]), "num_words"),
        (json!(["punctuation:no_comma"]), json!([]), "1 instructions and 0"),
        (json!(["keywords:existence"]), json!([{"keywords": []}]), "keywords"),
        (json!([]), json!([]), "no instruction"),
        (json!("punctuation:no_comma"), json!([{}]), "no list"),
        (json!(null), json!([{}]), "no list"),
    ] {
        let judged = score(config(), &json!({"ids": ids, "kwargs": kwargs}), "text");
        assert_eq!(judged.status, ScoreStatus::Error, "{ids} {kwargs}");
        assert!(judged.detail.as_deref().unwrap_or_default().contains(reason), "{ids} {judged:?}");
    }
}

#[test]
fn loose_looks_past_what_chat_models_put_around_their_answers() {
    let config = |loose: bool| json!({"instructions": [{"id": "punctuation:no_comma"}], "loose": loose});
    for (text, loose) in
        [("Sure, here it is:\nall fine", 1.0), ("all fine\nBye, then", 1.0), ("a\nb, c\nd", 0.0), ("a, b", 0.0)]
    {
        assert_eq!(score(config(true), &json!({}), text).reward, loose, "{text:?}");
        assert_eq!(score(config(false), &json!({}), text).reward, 0.0, "{text:?}");
    }
    let quoted = json!({"instructions": [{"id": "startend:quotation"}], "loose": true});
    assert_eq!(score(quoted, &json!({}), "**\"all\"**").reward, 1.0);
}

#[test]
fn instructions_that_cannot_be_followed_are_refused_where_they_stand() {
    for (config, pointer, code) in [
        (json!({}), "/v/instructions", "out_of_range"),
        (json!({"ids_column": "a"}), "/v/kwargs_column", "out_of_range"),
        (
            json!({"instructions": [{"id": "language:response_language", "language": "xx"}]}),
            "/v/instructions/0/language",
            "unknown_value",
        ),
        (
            json!({"instructions": [{"id": "length_constraints:nth_paragraph_first_word", "num_paragraphs": 1, "nth_paragraph": 2, "first_word": "a"}]}),
            "/v/instructions/0/nth_paragraph",
            "out_of_range",
        ),
        (json!({"instructions": [{"id": "keywords:no"}]}), "/v/instructions/0", "unknown_value"),
        (
            json!({"instructions": [{"id": "length_constraints:number_words"}]}),
            "/v/instructions/0/num_words",
            "missing_field",
        ),
        (json!({"instructions": [{"id": "punctuation:no_comma", "more": 1}]}), "/v/instructions/0", "unknown_field"),
    ] {
        let mut config = config;
        config["type"] = json!("constraints");
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        assert_eq!(errors[0].code, code, "{config}: {errors:?}");
        assert!(errors[0].pointer.starts_with(pointer), "{config}: {errors:?}");
    }
}

#[test]
fn long_texts_of_anything_end() {
    const BYTES: usize = 1 << 16;
    let row = Map::new();
    let instructions: Vec<Value> = FAMILIES.iter().map(|(id, arguments, ..)| instruction(id, arguments)).collect();
    let config = json!({"type": "constraints", "loose": true, "instructions": instructions});
    let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
    for piece in ["*", "[", "<<", "- a\n", "***", "a. ", "P. ", "```", "\"", "Section "] {
        let completion = piece.repeat(BYTES / piece.len());
        let case = Case { prompt: "", completion: &completion, answer: None, row: &row };
        assert_eq!(verifier.verify(&case).status, ScoreStatus::Ok, "{piece}");
    }
}
