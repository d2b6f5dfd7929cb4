//! How fast files of rows are taken in: read, unpacked, made into JSON Lines, checked, and written, as an upload does.
//!
//! Rows are like those of grade-school mathematics, some 600 bytes each. The files stay in `target/data-bench`, where
//! `benches/data.py` reads them with Python's own readers. Figures are of the bytes of the file, and of the JSON Lines that
//! are made of it; the memory is the most that the process has had.
//!
//! ```text
//! cargo bench --bench data -- [MEGABYTES]
//! python3 benches/data.py
//! ```

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anneal::dataset::Columns;
use anneal::dataset::forms::Form;
use anneal::dataset::intake::{Incoming, Intake, Source};
use anneal::dataset::jsonl::Limits;
use anneal::dataset::map::ColumnMap;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 3;
const GROUP_ROWS: usize = 50_000;
const COLUMNS: [&str; 3] = ["prompt", "completion", "answer"];

/// Row `number`, the same whenever it is asked for.
fn row(number: u64) -> [String; 3] {
    let mut random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % most
    };
    let names = ["Ada", "Emmy", "Sofia", "Grace", "Hypatia", "Maryam"];
    let things = ["pencils", "apples", "stamps", "marbles", "books", "shells"];
    let (who, what) = (names[next(6) as usize], things[next(6) as usize]);
    let (mut sum, mut prompt, mut completion) =
        (0, format!("{who} collects {what} for {} days.", 3 + next(4)), String::new());
    for day in 1..=4 + next(3) {
        let (boxes, each) = (1 + next(40), 2 + next(30));
        prompt.push_str(&format!(" On day {day} she finds {boxes} boxes with {each} {what} in each of them."));
        completion.push_str(&format!(
            "Day {day}: {boxes} * {each} = {}, so \"{sum}\" + {} = ",
            boxes * each,
            boxes * each
        ));
        sum += boxes * each;
        completion.push_str(&format!("{sum}.\n"));
    }
    prompt.push_str(&format!(" How many {what} does {who} have in the end?"));
    completion.push_str(&format!("#### {sum}"));
    [prompt, completion, sum.to_string()]
}

fn write_rows(folder: &Path, bytes: u64) -> io::Result<()> {
    let mut jsonl = BufWriter::new(File::create(folder.join("rows.jsonl"))?);
    let mut array = BufWriter::new(File::create(folder.join("rows.json"))?);
    let mut table = csv::Writer::from_path(folder.join("rows.csv"))?;
    table.write_record(COLUMNS)?;
    let schema = "message rows { optional binary prompt (utf8); optional binary completion (utf8); optional binary answer (utf8); }";
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut groups =
        SerializedFileWriter::new(File::create(folder.join("rows.parquet"))?, schema, Arc::new(properties))?;
    let (mut written, mut number) = (0, 0);
    while written < bytes {
        let rows: Vec<[String; 3]> = (0..GROUP_ROWS as u64).map(|index| row(number + index)).collect();
        for row in &rows {
            let line = Value::from_iter(COLUMNS.iter().zip(row).map(|(name, text)| ((*name).to_owned(), json!(text))))
                .to_string();
            writeln!(jsonl, "{line}")?;
            write!(array, "{}{line}", if written == 0 { "[" } else { ",\n" })?;
            table.write_record(row)?;
            written += line.len() as u64 + 1;
        }
        let mut columns = groups.next_row_group()?;
        for column in 0..COLUMNS.len() {
            let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row[column].as_str())).collect();
            let mut writer = columns.next_column()?.ok_or_else(|| io::Error::other("a column is missing"))?;
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(&vec![1; texts.len()]), None)?;
            writer.close()?;
        }
        columns.close()?;
        number += GROUP_ROWS as u64;
    }
    array.write_all(b"]")?;
    jsonl.flush()?;
    groups.close()?;
    for packed in ["gz", "zst"] {
        let target = BufWriter::new(File::create(folder.join(format!("rows.jsonl.{packed}")))?);
        let mut source = File::open(folder.join("rows.jsonl"))?;
        if packed == "gz" {
            let mut encoder = flate2::write::GzEncoder::new(target, flate2::Compression::fast());
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?.flush()?;
        } else {
            zstd::stream::copy_encode(source, target, 3)?;
        }
    }
    Ok(())
}

/// Seconds and bytes of the best of some runs.
fn take(path: &Path, map: Option<&str>, target: &Path) -> (f64, u64) {
    let map = map.map(|map| ColumnMap::parse(map).expect("the map is one"));
    let (columns, limits) = (Columns::default(), Limits::default());
    let intake = Intake { form: None, layout: None, map, columns, limits, max_bytes: u64::MAX };
    let runs = (0..RUNS).map(|_| {
        let form = path.to_str().and_then(Form::of_name);
        let source = Source::File(File::open(path).expect("the file was written"));
        let mut file = BufWriter::with_capacity(256 << 10, File::create(target).expect("the folder can be written"));
        let begun = Instant::now();
        let file_of = Ok(Incoming { name: String::from("rows"), form, source });
        let mut store = |bytes: &[u8]| {
            file.write_all(bytes).expect("there is space");
            Ok(())
        };
        let taken = intake.take([file_of].into_iter(), &|| Err(io::Error::other("nothing is packed")), &mut store);
        (begun.elapsed().as_secs_f64(), taken.expect("all rows are good").summary.bytes)
    });
    runs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
}

fn most_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or_else(String::new, |text| text.trim().to_owned())
}

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|text| text.parse::<u64>().ok()).unwrap_or(300);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/data-bench");
    fs::create_dir_all(&folder).expect("the folder can be made");
    // Writing takes more memory than reading: who wants to know that reads the files of a run before.
    let written = folder.join(format!("{megabytes}-megabytes"));
    if !written.exists() {
        write_rows(&folder, megabytes * 1_000_000).expect("the rows can be written");
        File::create(written).expect("the folder can be written");
    }
    let map = r#"{"prompt": "{prompt}\nAnswer with a number.", "answer": "answer"}"#;
    let files = ["rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst", "rows.json", "rows.csv", "rows.parquet"];
    for (name, map) in files.into_iter().map(|name| (name, None)).chain([("rows.jsonl", Some(map))]) {
        let path = folder.join(name);
        let (seconds, made) = take(&path, map, &folder.join("made.jsonl"));
        let bytes = fs::metadata(&path).map_or(0, |file| file.len());
        let rate = |bytes: u64| bytes as f64 / 1e6 / seconds;
        let mapped = if map.is_some() { " with a map" } else { "" };
        println!(
            "{name}{mapped}: {:.0} MB/s of the file, {:.0} MB/s of JSON Lines, {}",
            rate(bytes),
            rate(made),
            most_memory()
        );
    }
}
