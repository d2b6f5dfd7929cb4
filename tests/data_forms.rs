//! Data in the forms that people have, against a real server: what is stored of each, what is refused of broken ones, and
//! data sets of a hub. The commands of `docs/DATASETS.md` run here.

mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use common::{Answer, Server, data_dir};
use hub::{Hub, Trouble};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use program::Program;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// One server for the tests of this file, with a hub of its own.
struct Shared {
    server: Server,
    hub: Hub,
    folder: TempDir,
}

const LIMIT: usize = 4_000_000;

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let (folder, hub) = (data_dir(), Hub::start());
    let limit = LIMIT.to_string();
    let arguments = ["--max-upload-bytes", &limit, "--hub-endpoint", &hub.base];
    let server = Server::start_with(&folder.path().join("data"), &arguments);
    Shared { server, hub, folder }
});

fn server() -> &'static Server {
    &SHARED.server
}

fn escaped(query: &[(&str, &str)]) -> String {
    let each = query.iter().map(|(name, value)| {
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        format!("{name}={value}")
    });
    each.collect::<Vec<_>>().join("&")
}

fn post(query: &[(&str, &str)], body: &[u8]) -> Answer {
    server().post_bytes(&format!("/v1/datasets?{}", escaped(query)), body, &[])
}

fn made(query: &[(&str, &str)], body: &[u8]) -> Value {
    let answer = post(query, body);
    assert_eq!(answer.status, 201, "{query:?}: {}", answer.json());
    answer.json()
}

/// The rows that are stored of a data set.
fn rows(dataset: &Value) -> Vec<Value> {
    let version = dataset["latest"]["id"].as_str().unwrap();
    let answer = server().get(&format!("/v1/dataset-versions/{version}/content"));
    let text = String::from_utf8(answer.bytes).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Nothing may be left of what was refused: no data set of that name.
fn refused(query: &[(&str, &str)], body: &[u8], code: &str, said: &str) {
    let answer = post(&[query, &[("name", "refused")]].concat(), body);
    assert_eq!((answer.status, answer.problem().as_str()), (422, code), "{query:?}: {}", answer.json());
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(said), "{detail}");
    assert!(!names().contains(&json!("refused")));
}

fn names() -> Vec<Value> {
    let list = server().get("/v1/datasets?limit=100").json();
    list["data"].as_array().unwrap().iter().map(|dataset| dataset["name"].clone()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// A Parquet file with texts `question` and `answer`, of which some may be null.
fn parquet(rows: &[(Option<&str>, &str)]) -> Vec<u8> {
    let schema = "message rows { optional binary question (utf8); required binary answer (utf8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
    for rows in rows.chunks(2000) {
        let mut columns = writer.next_row_group().unwrap();
        let defined: Vec<i16> = rows.iter().map(|(question, _)| i16::from(question.is_some())).collect();
        let texts: Vec<ByteArray> = rows.iter().filter_map(|(question, _)| *question).map(ByteArray::from).collect();
        let mut column = columns.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&defined), None).unwrap();
        column.close().unwrap();
        let texts: Vec<ByteArray> = rows.iter().map(|(_, answer)| ByteArray::from(*answer)).collect();
        let mut column = columns.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
        columns.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

const MAP: &str = r#"{"prompt": "{question}\nAnswer with a number.", "answer": "answer"}"#;

#[test]
fn every_form_and_packing_becomes_the_same_rows() {
    let jsonl = b"{\"question\":\"1+1\",\"answer\":\"2\"}\n{\"question\":\"2+\\\"2\\\"\",\"answer\":\"4\"}\n";
    let forms: [(&str, Vec<u8>); 5] = [
        ("a.jsonl", jsonl.to_vec()),
        (
            "a.json",
            b"[{\"question\":\"1+1\",\"answer\":\"2\"},\n {\"question\":\"2+\\\"2\\\"\",\n\"answer\":\"4\"}]".to_vec(),
        ),
        ("a.csv", b"\xef\xbb\xbfquestion,answer\r\n1+1,2\r\n\"2+\"\"2\"\"\",4\r\n".to_vec()),
        ("a.tsv", b"question\tanswer\n1+1\t2\n\"2+\"\"2\"\"\"\t4\n".to_vec()),
        ("a.parquet", parquet(&[(Some("1+1"), "2"), (Some("2+\"2\""), "4")])),
    ];
    let expected = [
        json!({"prompt": "1+1\nAnswer with a number.", "answer": "2"}),
        json!({"prompt": "2+\"2\"\nAnswer with a number.", "answer": "4"}),
    ];
    for (name, bytes) in &forms {
        for (packing, packed) in [("plain", bytes.clone()), ("gzip", gzip(bytes)), ("zstd", zstd(bytes))] {
            let dataset = made(&[("filename", *name), ("map", MAP)], &packed);
            assert_eq!(rows(&dataset), expected, "{name} {packing}");
            let origin = &dataset["latest"]["origin"];
            assert_eq!(origin["form"], name.strip_prefix("a.").unwrap(), "{origin}");
            assert_eq!((&origin["packing"], &origin["layout"]), (&json!(packing), &json!("rows")));
            assert_eq!(origin["map"], serde_json::from_str::<Value>(MAP).unwrap());
        }
    }
    let csv = [("content-type", "text/csv; charset=utf-8")];
    let answer = server().post_bytes("/v1/datasets", b"prompt,answer\na,1\n", &csv);
    assert_eq!((answer.status, rows(&answer.json())), (201, vec![json!({"prompt": "a", "answer": "1"})]));
    let semicolons = made(&[("form", "csv")], b"prompt;answer\na,b;1\n");
    assert_eq!(rows(&semicolons), [json!({"prompt": "a,b", "answer": "1"})]);
    let filled = [gzip(b"{\"prompt\": \"a\"}\n"), vec![0; 512]].concat();
    assert_eq!(rows(&made(&[], &filled)), [json!({"prompt": "a"})]);
    let plain = made(&[], b"{\"prompt\": \"a\"}\n");
    assert_eq!(plain["latest"]["origin"], Value::Null);
}

#[test]
fn known_layouts_are_recognised_and_said() {
    let gsm8k = br#"{"question": "q", "answer": "1+1=2\n#### 2"}"#;
    let dataset = made(&[], gsm8k);
    assert_eq!(rows(&dataset), [json!({"prompt": "q", "completion": "1+1=2\n#### 2", "answer": "2"})]);
    assert_eq!(dataset["latest"]["origin"]["layout"], "gsm8k");
    let alpaca = b"instruction,input,output\nAdd.,\"1\n2\",3\n";
    assert_eq!(rows(&made(&[("form", "csv")], alpaca)), [json!({"prompt": "Add.\n\n1\n2", "completion": "3"})]);
    let turns = br#"[{"id": "x1", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}]"#;
    assert_eq!(rows(&made(&[], turns)), [json!({"prompt": "q", "id": "x1", "completion": "a"})]);
    let weightless =
        br#"{"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a", "weight": 0}]}"#;
    refused(&[], weightless, "row_wrong_type", "weight 0");
    let large = br#"{"question": "q", "answer": "1 #### 1", "id": 12345678901234567890123}"#;
    refused(&[], large, "row_wrong_type", "column `id` holds an integer of more than 64 bits");
    let chat = br#"{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}"#;
    assert_eq!(rows(&made(&[("layout", "chat")], chat)), [json!({"prompt": "q", "completion": "a"})]);
    refused(&[("layout", "alpaca")], gsm8k, "row_other_layout", "row 1: not of the layout `alpaca`");
}

#[test]
fn a_null_prompt_in_row_4217_of_a_parquet_file_is_named() {
    let texts: Vec<String> = (1..=5000).map(|row| format!("{row}+0=")).collect();
    let mut all: Vec<(Option<&str>, &str)> = texts.iter().map(|text| (Some(text.as_str()), "1")).collect();
    all[4216].0 = None;
    let query = [("filename", "a.parquet"), ("prompt_column", "question")];
    refused(&query, &parquet(&all), "row_wrong_type", "row 4217: column `question` holds null");
    refused(&[("map", MAP)], &parquet(&all), "row_not_mapped", "row 4217: `prompt` cannot be made: `question` is null");
}

#[test]
fn broken_files_are_named_and_nothing_of_them_is_kept() {
    let csv = [("form", "csv")];
    refused(
        &csv,
        b"prompt,answer\n\"a\nb\",1\nc,2,3\n",
        "csv_ragged_row",
        "row 2: on line 4 of the file it has 3 fields",
    );
    refused(&csv, b"prompt,prompt\na,b\n", "csv_header", "twice");
    refused(
        &csv,
        b"answer,prompt\n1,a\n2,\"b\n3,c\n",
        "csv_open_quote",
        "row 2: a double quote opens a field on line 3",
    );
    refused(&csv, b"\xff\xfep\0r\0", "not_utf8", "save the file as UTF-8");
    refused(&[], b"[{\"prompt\": \"a\"}, {\"prompt\": \"b\"}", "json_array_broken", "row 2: ");
    refused(&[], b"prompt,answer\na,1\n", "row_invalid_json", "form=csv");
    refused(&[], b"[{\"prompt\": 1}, {\"prompt\": \"b\"} {}]", "row_wrong_type", "row 1: ");
    refused(&[], b"PK\x03\x04 a workbook", "unknown_form", "save the sheet as CSV");
    let whole = parquet(&[(Some("a"), "1")]);
    refused(&[], &whole[..whole.len() - 3], "parquet_unreadable", "cut off");
    let packed = gzip(&b"{\"prompt\": \"a\"}\n".repeat(5000));
    refused(&[], &packed[..packed.len() / 2], "packing_broken", "send it again");
    refused(&[("map", r#"{"prompt": "{q}"}"#)], b"{\"prompt\": \"a\"}\n", "row_not_mapped", "there is no `q`");
    for map in ["{", "{\"prompt\": \"{q\"}", "[]"] {
        let answer = post(&[("map", map)], b"{\"q\": \"a\"}\n");
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_parameter"), "{map}");
    }
}

#[test]
fn a_bomb_goes_off_nowhere() {
    // A thousandth of what they unpack to, in rows and in one line.
    let rows = b"{\"prompt\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n".repeat(200_000);
    for packed in [gzip(&rows), zstd(&rows)] {
        assert!(packed.len() < LIMIT / 10);
        refused(&[], &packed, "expands_too_far", "4000000 bytes");
    }
    let zeros = vec![b'0'; 64 << 20];
    for packed in [gzip(&zeros), zstd(&zeros)] {
        refused(&[], &packed, "row_too_long", "row 1: ");
    }
    let answer = server().get("/v1/datasets?limit=1");
    assert_eq!(answer.status, 200);
    let left = std::fs::read_dir(SHARED.folder.path().join("data/uploads")).unwrap().count();
    assert!(left <= 20, "there is only what other tests have under way: {left}");
}

#[test]
fn a_preview_shows_rows_and_stores_nothing() {
    let csv = b"question,answer\n1+1,2\n,3\n";
    let answer = post(&[("form", "csv"), ("map", MAP), ("dry_run", "preview"), ("name", "never")], csv);
    assert_eq!(answer.status, 200, "{}", answer.json());
    let preview = answer.json();
    assert_eq!((&preview["object"], &preview["form"]), (&json!("dataset.preview"), &json!("csv")));
    let first = json!({"row": 1, "source": {"question": "1+1", "answer": "2"}, "error": null,
        "mapped": {"prompt": "1+1\nAnswer with a number.", "answer": "2"}});
    assert_eq!(preview["rows"][0], first);
    assert_eq!(preview["rows"][1]["error"]["code"], "row_not_mapped", "{preview}");
    assert!(!names().contains(&json!("never")));
    let broken = post(&[("form", "csv"), ("dry_run", "preview")], b"prompt\na\nb,c\n").json();
    assert_eq!(
        (&broken["rows"][0]["row"], &broken["error"]["code"]),
        (&json!(1), &json!("csv_ragged_row")),
        "{broken}"
    );
    let broken = post(&[("dry_run", "preview")], b"[{\"prompt\": \"a\"}, {\"prompt\": \"b\"} {}]").json();
    assert_eq!(
        (broken["rows"].as_array().map(Vec::len), &broken["error"]["code"]),
        (Some(2), &json!("json_array_broken"))
    );
}

#[test]
fn versions_appends_and_uploaded_files_take_the_same_forms() {
    let dataset = made(&[("filename", "a.csv"), ("map", MAP)], b"question,answer\n1,1\n");
    let id = dataset["id"].as_str().unwrap();
    let query = escaped(&[("form", "tsv"), ("map", MAP)]);
    let appended = server().post_bytes(&format!("/v1/datasets/{id}/append?{query}"), b"question\tanswer\n2\t2\n", &[]);
    assert_eq!((appended.status, &appended.json()["rows"]), (201, &json!(2)), "{}", appended.json());
    let wrong = server().post_bytes(&format!("/v1/datasets/{id}/append?prompt_column=x"), b"{\"x\": \"a\"}", &[]);
    assert_eq!((wrong.status, wrong.problem().as_str()), (400, "invalid_parameter"));
    let version = server().post_bytes(&format!("/v1/datasets/{id}/versions?form=csv"), b"prompt\nc\n", &[]);
    assert_eq!((version.status, &version.json()["number"]), (201, &json!(3)), "{}", version.json());
}

/// What a repository of the hub holds.
fn put(repository: &str, files: &[(&str, &[u8])]) -> String {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    SHARED.hub.put_files(&format!("datasets/{repository}"), files)
}

#[test]
fn a_split_of_the_hub_is_brought_with_its_commit_and_digests() {
    let (one, two) = (parquet(&[(Some("q1"), "1 #### 1")]), parquet(&[(Some("q2"), "2 #### 2")]));
    let files: [(&str, &[u8]); 4] = [
        ("main/train-00000-of-00002.parquet", &one),
        ("main/train-00001-of-00002.parquet", &two),
        ("main/test-00000-of-00001.parquet", &two),
        ("socratic/train-00000-of-00001.parquet", &two),
    ];
    let commit = put("grade/school", &files);
    let dataset = made(&[("source", "hf:datasets/grade/school@main:main/train"), ("name", "g")], b"");
    let row =
        |n: u32| json!({"prompt": format!("q{n}"), "completion": format!("{n} #### {n}"), "answer": n.to_string()});
    assert_eq!(rows(&dataset), [row(1), row(2)]);
    let origin = &dataset["latest"]["origin"];
    assert_eq!(origin["source"], format!("hf:datasets/grade/school@{commit}:main/train"));
    let sha256: String = Sha256::digest(&two).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = json!({"path": files[1].0, "bytes": two.len(), "sha256": sha256});
    assert_eq!((&origin["files"][1], &origin["layout"]), (&file, &json!("gsm8k")), "{origin}");
    let several = post(&[("source", "hf:datasets/grade/school")], b"");
    assert_eq!((several.status, several.problem().as_str()), (422, "hub_split_unknown"));
    assert!(several.json()["detail"].as_str().unwrap().contains("`main`, `socratic`"), "{}", several.json());
    for (source, status, code) in [
        ("hf:datasets/no/where", 422, "hub_not_found"),
        ("hf:datasets/grade/school:main/dev", 422, "hub_split_unknown"),
        ("hf:grade/school", 400, "invalid_parameter"),
    ] {
        let answer = post(&[("source", source)], b"");
        assert_eq!((answer.status, answer.problem().as_str()), (status, code), "{source}");
    }
    assert_eq!(post(&[("source", "hf:datasets/grade/school:main/test")], b"{}").status, 400, "rows twice");
}

#[test]
fn what_the_hub_breaks_off_goes_on_and_what_it_changes_is_refused() {
    let text = b"{\"prompt\": \"a\"}\n".repeat(2000);
    put("rows/broken", &[("train.jsonl", &text[..])]);
    SHARED.hub.trouble("train.jsonl", [Trouble::Cut(1000)]);
    assert_eq!(made(&[("source", "hf:datasets/rows/broken")], b"")["latest"]["rows"], 2000);
    let bad = b"{\"prompt\": \"a\"}\n{\"prompt\": null}\n";
    put("rows/bad", &[("data/train-0.jsonl", &text[..]), ("data/train-1.jsonl", &bad[..])]);
    let answer = post(&[("source", "hf:datasets/rows/bad:train")], b"");
    assert_eq!(answer.problem(), "row_wrong_type");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("data/train-1.jsonl, its row 2: "), "{detail}");
}

#[test]
fn the_commands_show_and_store_what_they_are_given() {
    let program = Program::of(&server().base);
    let file = program.file("sums.csv", "question,result\n1+1,2\n");
    let maps = ["--map", "prompt={question}=", "--map", "answer=result"];
    let shown = program.text(&[&["datasets", "upload", &file, "--preview"], &maps[..]].concat());
    assert!(shown.contains("csv, plain, layout rows; nothing was stored"), "{shown}");
    assert!(shown.contains(r#"to   {"prompt":"1+1=","answer":"2"}"#), "{shown}");
    let dataset = program.json(&[&["datasets", "upload", &file, "--name", "sums"], &maps[..]].concat());
    assert_eq!(rows(&dataset), [json!({"prompt": "1+1=", "answer": "2"})]);
    put("sums/few", &[("test.csv", &b"prompt,answer\n1+1=,2\n"[..])]);
    let pulled = program.json(&["datasets", "pull", "hf:datasets/sums/few:test", "--name", "few"]);
    assert_eq!((&pulled["name"], &pulled["latest"]["rows"]), (&json!("few"), &json!(1)));
}

#[test]
fn the_commands_of_the_page_work() {
    let rows = parquet(&[(Some("1+1?"), "2\n#### 2")]);
    put("openai/gsm8k", &[("main/train-00000-of-00001.parquet", &rows[..])]);
    let page = pages::section("docs/DATASETS.md", "## Rows from files and from the hub");
    pages::all_work(&pages::blocks_of(&page, "sh"), &server().base, SHARED.folder.path());
}
