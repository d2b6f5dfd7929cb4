//! Published tokenizers and chat templates against the Python packages tokenizers and transformers: the same ids, the same
//! texts. `tests/text/goldens.py` makes what is expected.

use std::path::{Path, PathBuf};
use std::process::Command;

use anneal::dataset::read_messages;
use anneal::job::digest::sha256_hex;
use anneal::modelfile::gguf::{GgufValue, Metadata};
use anneal::text::chat::{Chat, ChatTemplate};
use anneal::text::tokenizer::TextTokenizer;
use serde_json::{Value, json};

/// Texts whose ids share a digest.
const GROUP: usize = 50;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn data(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(file("tests/data").join(name)).unwrap()).unwrap()
}

/// The folder with a folder for each model; fetched once.
fn tokenizers() -> PathBuf {
    let folder = file("target/tokenizers");
    let output = Command::new("bash").arg(file("tests/text/get_tokenizers.sh")).arg(&folder).output();
    let output = output.expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn check_ids(name: &str, tokenizer: &TextTokenizer, texts: &[&str], golden: &Value) {
    let ids: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.encode(text).unwrap()).collect();
    for ((group, texts), want) in ids.chunks(GROUP).zip(texts.chunks(GROUP)).zip(golden["ids"].as_array().unwrap()) {
        assert_eq!(sha256_hex(json!(group).to_string().as_bytes()), *want, "{name}: the ids of one of {texts:?}");
    }
    let decoded: Vec<String> = ids.iter().map(|ids| tokenizer.decode(ids, false).unwrap()).collect();
    assert_eq!(sha256_hex(decoded.join("\u{1e}").as_bytes()), golden["decoded"], "{name}: texts of ids");
    for (text, ids) in texts.iter().zip(&ids).step_by(7) {
        let places = tokenizer.encode_with_places(text).unwrap();
        assert!(places.iter().map(|(id, _)| id).eq(ids), "{name}: ids with places of {text:?}");
        assert!(places.iter().all(|(_, place)| text.get(place.clone()).is_some()), "{name}: places in {text:?}");
    }
}

fn check_chats(name: &str, template: &ChatTemplate, conversations: &[Value], golden: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, (case, want)) in conversations.iter().zip(golden).enumerate() {
        let messages = read_messages(case["messages"].as_array().unwrap()).unwrap();
        let tools = Some(&case["tools"]).filter(|tools| !tools.is_null());
        let chat =
            Chat { messages: &messages, tools, thinking: case["thinking"].as_bool(), asks: case["asks"] == true };
        let rendered = template.render(&chat);
        let is_same = match &rendered {
            Ok(text) => sha256_hex(text.as_bytes()) == *want,
            Err(_) => want.is_null(),
        };
        if !is_same {
            wrong.push(format!("{name}, conversation {place}: {rendered:?}"));
        }
    }
    wrong
}

/// The metadata of GGUF files for a published tokenizer, as llama.cpp's converter writes them; `pre` is its name for the
/// way texts are cut, none for SentencePiece.
fn gguf_of(json: &Value, pre: Option<&str>) -> Metadata {
    let model = &json["model"];
    let added = json["added_tokens"].as_array().unwrap();
    let (vocab, merges) = (model["vocab"].as_object().unwrap(), model["merges"].as_array().unwrap());
    let count =
        vocab.values().chain(added.iter().map(|token| &token["id"])).map(|id| id.as_u64().unwrap()).max().unwrap();
    let mut tokens: Vec<String> = (0..=count).map(|id| format!("[unused {id}]")).collect();
    let mut kinds = vec![1; tokens.len()];
    for (token, id) in vocab {
        let id = id.as_u64().unwrap() as usize;
        tokens[id].clone_from(token);
        kinds[id] = if pre.is_none() && token.starts_with("<0x") { 6 } else { 1 };
    }
    for token in added {
        let (id, text) = (token["id"].as_u64().unwrap() as usize, token["content"].as_str().unwrap());
        tokens[id] = text.to_owned();
        kinds[id] = if token["special"] == true { 3 } else { 4 };
    }
    let text = |text: &str| GgufValue::Text(text.to_owned());
    let mut metadata = Metadata::from([
        ("tokenizer.ggml.token_type".to_owned(), GgufValue::Integers(kinds)),
        ("tokenizer.ggml.model".to_owned(), text(if pre.is_some() { "gpt2" } else { "llama" })),
    ]);
    let pair = |merge: &Value| match merge.as_array() {
        Some(pair) => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
        None => merge.as_str().unwrap().to_owned(),
    };
    if let Some(pre) = pre {
        metadata.insert("tokenizer.ggml.merges".to_owned(), GgufValue::Texts(merges.iter().map(pair).collect()));
        metadata.insert("tokenizer.ggml.pre".to_owned(), text(pre));
    } else {
        // Merges stand in the order of the scores of what they make.
        let mut scores = vec![0.0; tokens.len()];
        for (rank, merge) in merges.iter().enumerate().rev() {
            scores[vocab[&pair(merge).replace(' ', "")].as_u64().unwrap() as usize] = -(rank as f64);
        }
        metadata.insert("tokenizer.ggml.scores".to_owned(), GgufValue::Floats(scores));
        let prepends = json["normalizer"].to_string().contains("Prepend");
        metadata.insert("tokenizer.ggml.add_space_prefix".to_owned(), GgufValue::Bool(prepends));
    }
    metadata.insert("tokenizer.ggml.tokens".to_owned(), GgufValue::Texts(tokens));
    metadata
}

#[test]
fn published_tokenizers_are_the_same_from_gguf() {
    let (cases, goldens, folder) = (data("text_cases.json"), data("text_goldens.json"), tokenizers());
    let texts: Vec<&str> = cases["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for (name, pre) in [
        ("llama3", Some("llama-bpe")),
        ("qwen2_5", Some("qwen2")),
        ("mistral_nemo", Some("tekken")),
        ("deepseek_v3", Some("deepseek-v3")),
        ("command_r_plus", Some("command-r")),
        ("llama2", None),
        ("gemma3", None),
    ] {
        let json = std::fs::read(folder.join(name).join("tokenizer.json")).unwrap();
        let metadata = gguf_of(&serde_json::from_slice(&json).unwrap(), pre);
        check_ids(name, &TextTokenizer::from_gguf(&metadata).unwrap(), &texts, &goldens[name]);
    }
}

#[test]
fn published_tokenizers_and_templates_give_what_they_give_in_python() {
    let (cases, goldens, folder) = (data("text_cases.json"), data("text_goldens.json"), tokenizers());
    let texts: Vec<&str> = cases["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let conversations = cases["conversations"].as_array().unwrap();
    assert!(texts.len() >= 3000 && conversations.len() >= 60);
    let (mut templates, mut wrong) = (0, Vec::new());
    for (name, golden) in goldens.as_object().unwrap() {
        let json = std::fs::read(folder.join(name).join("tokenizer.json")).unwrap();
        let tokenizer = TextTokenizer::from_hf_json(&json).unwrap();
        tokenizer.try_patterns().unwrap();
        check_ids(name, &tokenizer, &texts, golden);
        let template = ChatTemplate::from_hf_dir(&folder.join(name)).unwrap();
        assert_eq!(template.is_some(), golden["chats"].is_array(), "{name}");
        if let Some(template) = template {
            wrong.extend(check_chats(name, &template, conversations, golden["chats"].as_array().unwrap()));
            templates += 1;
        }
    }
    assert!(wrong.is_empty(), "{} renderings are others:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
    assert!(goldens.as_object().unwrap().len() >= 6 && templates >= 10, "{templates} templates");
}
