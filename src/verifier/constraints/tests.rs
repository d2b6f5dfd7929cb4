use serde_json::{Map, Value, json};

use crate::verifier::{self, Case, Outside, Score, ScoreStatus};

fn score(mut config: Value, row: &Value, completion: &str) -> Score {
    config["type"] = json!("constraints");
    let case = Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() };
    verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
}

/// Whether a text follows one instruction, given as an id and its arguments.
fn follows(id: &str, arguments: &Value, text: &str) -> bool {
    let mut instruction = arguments.clone();
    instruction["id"] = json!(id);
    score(json!({"instructions": [instruction]}), &json!({}), text).reward == 1.0
}

/// Each family with its arguments, texts that follow it and texts that do not.
fn families() -> Vec<(&'static str, Value, Vec<&'static str>, Vec<&'static str>)> {
    let english = "The weather was nice and the children were playing in the garden behind the old house.";
    vec![
        ("keywords:existence", json!({"keywords": ["Sun", "moon"]}), vec!["the MOON and the sunset"], vec!["the sun", ""]),
        ("keywords:frequency", json!({"keyword": "ab", "frequency": 2, "relation": "at least"}), vec!["ab Ab", "cabab"], vec!["ab"]),
        ("keywords:frequency", json!({"keyword": "ab", "frequency": 2, "relation": "less than"}), vec!["ab", "x"], vec!["ab ab"]),
        ("keywords:forbidden_words", json!({"forbidden_words": ["cat", "dog"]}), vec!["concatenate dogs"], vec!["a Cat.", "dog"]),
        ("keywords:letter_frequency", json!({"letter": "e", "let_frequency": 3, "let_relation": "at least"}), vec!["eEe"], vec!["ee"]),
        ("language:response_language", json!({"language": "de"}), vec!["Das ist ein langer Satz in deutscher Sprache, den man erkennt."], vec![english]),
        ("language:response_language", json!({"language": "hi"}), vec!["यह हिन्दी में लिखा हुआ एक वाक्य है और इसे पहचाना जा सकता है।"], vec![english]),
        ("language:response_language", json!({"language": "ta"}), vec!["இது தமிழில் எழுதப்பட்ட ஒரு வாக்கியம்."], vec![english]),
        ("length_constraints:number_sentences", json!({"num_sentences": 3, "relation": "less than"}), vec!["One. Two!"], vec!["One. Two! Three?"]),
        ("length_constraints:number_sentences", json!({"num_sentences": 2, "relation": "exactly"}), vec!["Dr. J. Doe paid 3.50, e.g. today. \"Why?\" he asked.", "これは文です。これも。", "One... Two"], vec!["One.", "One. Two. Three."]),
        ("length_constraints:number_paragraphs", json!({"num_paragraphs": 2}), vec!["a\n***\nb", "a***b", "***a\n***\nb***"], vec!["a", "a***b***c", "a***  ***b"]),
        ("length_constraints:number_words", json!({"num_words": 4, "relation": "at least"}), vec!["a b c d", "it's-so fine"], vec!["a b c", "a , - ."]),
        ("length_constraints:nth_paragraph_first_word", json!({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"}), vec!["a\n\n\"then, b"], vec!["a\n\nb then", "a\n\nthen\n\nc", "then"]),
        ("detectable_content:number_placeholders", json!({"num_placeholders": 2}), vec!["[a] [b c]"], vec!["[a]", "[a [b]"]),
        ("detectable_content:postscript", json!({"postscript_marker": "P.S."}), vec!["Hi\nP.S. one", "p. s. two"], vec!["PS: one"]),
        ("detectable_content:postscript", json!({"postscript_marker": "P.P.S"}), vec!["Hi\nP.P.S one", "P. P. S. x"], vec!["P.S. one"]),
        ("detectable_format:number_bullet_lists", json!({"num_bullets": 2}), vec!["* a\n- b", "  * a\nx\n* b"], vec!["* a", "* a\n* b\n- c", "**a**\n* b"]),
        ("detectable_format:constrained_response", json!({}), vec!["Well. My answer is maybe."], vec!["My answer is perhaps."]),
        ("detectable_format:number_highlighted_sections", json!({"num_highlights": 2}), vec!["*a* and **b c**"], vec!["*a*", "** ** * *", "*a\nb* *c*"]),
        ("detectable_format:multiple_sections", json!({"section_spliter": "Section", "num_sections": 2}), vec!["Section 1\na\nSection 2\nb"], vec!["Section one, Section 2"]),
        ("detectable_format:json_format", json!({}), vec!["{\"a\": 1}", "```json\n[1]\n```", "3"], vec!["{a: 1}", "JSON: {}"]),
        ("detectable_format:title", json!({}), vec!["<<joy>>\ntext", "<< >> <<a>>"], vec!["<joy>", "<<>>", "<<a\nb>>"]),
        ("combination:two_responses", json!({}), vec!["a\n******\nb"], vec!["a", "a******a", "a******b******c"]),
        ("combination:repeat_prompt", json!({"prompt_to_repeat": "Say it."}), vec![" say it. Yes"], vec!["Yes. Say it."]),
        ("startend:end_checker", json!({"end_phrase": "The End."}), vec!["so\nthe end.", "\"the end.\""], vec!["the end. Or"]),
        ("startend:quotation", json!({}), vec!["\"all\"", " \"a\" and \"b\" "], vec!["\"", "\"a", "a"]),
        ("change_case:capital_word_frequency", json!({"capital_frequency": 2, "capital_relation": "at least"}), vec!["A GREAT day"], vec!["A great day"]),
        ("change_case:english_capital", json!({}), vec!["THE WEATHER WAS NICE AND THE CHILDREN WERE PLAYING."], vec![english, "DAS WETTER WAR SCHÖN UND DIE KINDER SPIELTEN IM GARTEN."]),
        ("change_case:english_lowercase", json!({}), vec!["the weather was nice and the children were playing."], vec![english]),
        ("punctuation:no_comma", json!({}), vec!["a; b"], vec!["a, b"]),
    ]
}

#[test]
fn every_family_is_followed_by_the_texts_that_do_and_by_no_others() {
    for (id, arguments, right, wrong) in families() {
        for text in right {
            assert!(follows(id, &arguments, text), "{id} {arguments} {text:?}");
        }
        for text in wrong.into_iter().chain(["", " \n"]) {
            assert!(!follows(id, &arguments, text), "{id} {arguments} {text:?}");
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
    for (text, loose) in [("Sure, here it is:\nall fine", 1.0), ("all fine\nBye, then", 1.0), ("a\nb, c\nd", 0.0), ("a, b", 0.0)] {
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
        (json!({"instructions": [{"id": "language:response_language", "language": "xx"}]}), "/v/instructions/0/language", "unknown_value"),
        (json!({"instructions": [{"id": "length_constraints:nth_paragraph_first_word", "num_paragraphs": 1, "nth_paragraph": 2, "first_word": "a"}]}), "/v/instructions/0/nth_paragraph", "out_of_range"),
        (json!({"instructions": [{"id": "keywords:no"}]}), "/v/instructions/0", "unknown_value"),
        (json!({"instructions": [{"id": "length_constraints:number_words"}]}), "/v/instructions/0/num_words", "missing_field"),
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
fn a_megabyte_of_anything_ends() {
    let row = Map::new();
    let instructions: Vec<Value> = families().into_iter().map(|(id, arguments, ..)| {
        let mut instruction = arguments;
        instruction["id"] = json!(id);
        instruction
    }).collect();
    let config = json!({"type": "constraints", "loose": true, "instructions": instructions});
    let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
    for piece in ["*", "[", "<<", "- a\n", "***", "a. ", "P. ", "```", "\"", "Section "] {
        let completion = piece.repeat(verifier::MAX_TEXT_BYTES / piece.len());
        let case = Case { prompt: "", completion: &completion, answer: None, row: &row };
        assert_eq!(verifier.verify(&case).status, ScoreStatus::Ok, "{piece}");
    }
}
