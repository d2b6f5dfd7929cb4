//! Published tokenizers and chat templates against the Python packages tokenizers and transformers: the same ids, the same
//! texts. `tests/text/goldens.py` makes what is expected.

use std::path::{Path, PathBuf};
use std::process::Command;

use anneal::dataset::read_messages;
use anneal::job::digest::sha256_hex;
use anneal::text::chat::{Chat, ChatTemplate};
use anneal::text::gguf;
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

#[test]
fn published_tokenizers_are_the_same_written_as_gguf_and_read() {
    let (cases, goldens, folder) = (data("text_cases.json"), data("text_goldens.json"), tokenizers());
    let texts: Vec<&str> = cases["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for (name, pre) in [
        ("llama3", "llama-bpe"),
        ("qwen2_5", "qwen2"),
        ("mistral_nemo", "tekken"),
        ("deepseek_v3", "deepseek-v3"),
        ("command_r_plus", "command-r"),
        ("llama2", "default"),
        ("gemma3", "default"),
    ] {
        let json = std::fs::read(folder.join(name).join("tokenizer.json")).unwrap();
        let tokenizer = TextTokenizer::from_hf_json(&json).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let added = json["added_tokens"].as_array().unwrap().iter().map(|token| &token["id"]);
        let ids = json["model"]["vocab"].as_object().unwrap().values().chain(added);
        let rows = 1 + ids.map(|id| id.as_u64().unwrap() as usize).max().unwrap();
        // As many rows more as models have that are a whole number of blocks.
        let metadata = gguf::metadata(&tokenizer, rows + 3).unwrap();
        assert_eq!(metadata["tokenizer.ggml.pre"].as_str(), Some(pre), "{name}");
        let is_sentencepiece = ["llama2", "gemma3"].contains(&name);
        let model = if is_sentencepiece { "llama" } else { "gpt2" };
        assert_eq!(metadata["tokenizer.ggml.model"].as_str(), Some(model), "{name}");
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
