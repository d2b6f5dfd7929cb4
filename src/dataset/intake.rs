//! Taking files of rows in: whatever form and layout they have, what is stored are JSON Lines.
//!
//! ```text
//! one thread   bytes -> unpacked -> lines of JSON           another   lines -> layout -> map -> check -> stored
//! ```
//!
//! Both are bounded: a few chunks lie between them, and neither holds more of a file than some rows. JSON Lines that nothing
//! is made of are stored byte by byte as they came. The first error in the order of the rows is the one that is told.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::{Map, Value};

use super::forms::{self, Form, Packing, failure, parquet};
use super::jsonl::{Limits, Summary, Validator};
use super::layout::Layout;
use super::lines::{Line, Lines};
use super::map::ColumnMap;
use super::shaper::Shaper;
use super::{Columns, DatasetError, Row, numbers};

/// Chunks that wait between the threads.
const QUEUE: usize = 4;
/// A preview ends with the row with which it passes this many bytes.
const PREVIEW_BYTES: usize = 4 << 20;

/// How files become rows.
#[derive(Clone, Debug)]
pub struct Intake {
    /// None where the files say it.
    pub form: Option<Form>,
    /// None where the first row says it.
    pub layout: Option<Layout>,
    /// Applied to what the layout has made.
    pub map: Option<ColumnMap>,
    /// Of the stored rows.
    pub columns: Columns,
    pub limits: Limits,
    /// Of the unpacked bytes of a file, and of what is stored.
    pub max_bytes: u64,
}

/// A file of rows.
pub struct Incoming {
    /// For people, where there are several.
    pub name: String,
    /// What is known of its form without looking into it.
    pub form: Option<Form>,
    pub source: Source,
}

/// Where the bytes of a file are.
pub enum Source {
    Stream(Box<dyn Read + Send>),
    /// At its beginning.
    File(File),
}

/// What was taken in.
#[derive(Clone, Debug)]
pub struct Taken {
    pub summary: Summary,
    /// Of the first file.
    pub form: Form,
    pub packing: Packing,
    pub layout: Layout,
}

/// What the first rows would become.
#[derive(Clone, Debug)]
pub struct Preview {
    pub form: Option<Form>,
    pub packing: Option<Packing>,
    pub layout: Option<Layout>,
    pub rows: Vec<PreviewRow>,
    /// What ended it before enough rows had been read.
    pub error: Option<DatasetError>,
}

/// A row, as it came and as it would be stored.
#[derive(Clone, Debug)]
pub struct PreviewRow {
    /// Counted from 1.
    pub row: u64,
    pub source: Value,
    /// None where it cannot be made.
    pub mapped: Option<Value>,
    /// Why it would be refused.
    pub error: Option<DatasetError>,
}

/// What the reading thread hands over.
enum Message {
    Begins { name: String, form: Form, packing: Packing },
    Lines(Vec<u8>),
}

type Messages = Receiver<Result<Message, DatasetError>>;

impl Intake {
    /// Whether the stored rows could be others than the lines of a plain file of JSON Lines.
    pub fn changes(&self) -> bool {
        self.map.is_some() || self.layout.is_some_and(|layout| layout != Layout::Rows)
    }

    /// Takes files in, one behind the other, and gives `store` the bytes to store. `spool` makes a file that nobody else has,
    /// for what cannot be read as a stream. Blocks; what it returned an error for is to be thrown away.
    pub fn take(
        &self,
        files: impl Iterator<Item = Result<Incoming, DatasetError>> + Send,
        spool: &(dyn Fn() -> io::Result<File> + Sync),
        store: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
    ) -> Result<Taken, DatasetError> {
        let several = files.size_hint().0 > 1;
        self.pipe(files, spool, |messages| {
            let mut validator = Validator::new(self.columns.clone(), self.limits.clone());
            let (mut shaper, mut place) = (Shaper::new(self), Places { several, ..Places::default() });
            let (mut first, mut left) = (None, self.max_bytes);
            let mut keep = |bytes: &[u8]| {
                left = left
                    .checked_sub(bytes.len() as u64)
                    .ok_or(DatasetError::ExpandsTooFar { limit: self.max_bytes })?;
                validator.feed(bytes)?;
                store(bytes)
            };
            for message in messages {
                let kept = match message? {
                    Message::Begins { name, form, packing } => {
                        first.get_or_insert((form, packing));
                        place.begin(name);
                        continue;
                    }
                    Message::Lines(text) => {
                        place.pass(&text);
                        shaper.feed(&text, &mut keep)
                    }
                };
                kept.map_err(|error| place.name(error))?;
            }
            shaper.finish(&mut keep).map_err(|error| place.name(error))?;
            let summary = validator.finish().map_err(|error| place.name(error))?;
            let (form, packing) = first.ok_or(DatasetError::Empty)?;
            Ok(Taken { summary, form, packing, layout: shaper.layout.unwrap_or(Layout::Rows) })
        })
    }

    /// Shows what the first `most` rows would become.
    pub fn preview(
        &self,
        files: impl Iterator<Item = Result<Incoming, DatasetError>> + Send,
        spool: &(dyn Fn() -> io::Result<File> + Sync),
        most: usize,
    ) -> Preview {
        let mut preview = Preview { form: None, packing: None, layout: self.layout, rows: Vec::new(), error: None };
        let mut bytes = 0;
        let read = self.pipe(files, spool, |messages| {
            let mut lines = Lines::new(self.limits.max_row_bytes);
            let mut add = |line: Line<'_>, preview: &mut Preview| {
                if preview.rows.len() < most && bytes < PREVIEW_BYTES {
                    bytes += line.text.len();
                    let row = self.preview_row(&line, &mut preview.layout);
                    preview.rows.push(row);
                }
                Ok(())
            };
            for message in messages {
                match message? {
                    Message::Begins { form, packing, .. } => {
                        preview.form.get_or_insert(form);
                        preview.packing.get_or_insert(packing);
                    }
                    Message::Lines(text) => lines.feed(&text, |line| add(line, &mut preview))?,
                }
                if preview.rows.len() >= most {
                    return Ok(());
                }
            }
            lines.finish(|line| add(line, &mut preview))
        });
        preview.error = read.err().or_else(|| preview.rows.is_empty().then_some(DatasetError::Empty));
        preview
    }

    fn preview_row(&self, line: &Line<'_>, layout: &mut Option<Layout>) -> PreviewRow {
        let row = line.number;
        let source = match read_fields(row, line.text) {
            Ok(fields) => fields,
            Err(error) => {
                let source = Value::String(String::from_utf8_lossy(line.text).into_owned());
                return PreviewRow { row, source, mapped: None, error: Some(error) };
            }
        };
        let layout = *layout.get_or_insert_with(|| self.recognise(&source));
        let mapped = self.shape(layout, line, source.clone());
        let source = Value::Object(source);
        match mapped {
            Ok(mapped) => {
                let mapped = Value::Object(mapped);
                let error = Row::parse(row, mapped.to_string().as_bytes(), &self.columns).err();
                PreviewRow { row, source, mapped: Some(mapped), error }
            }
            Err(error) => PreviewRow { row, source, mapped: None, error: Some(error) },
        }
    }

    /// Reads on one thread what `consume` takes on this one.
    fn pipe<T>(
        &self,
        files: impl Iterator<Item = Result<Incoming, DatasetError>> + Send,
        spool: &(dyn Fn() -> io::Result<File> + Sync),
        consume: impl FnOnce(Messages) -> Result<T, DatasetError>,
    ) -> Result<T, DatasetError> {
        thread::scope(|scope| {
            let (send, receive) = sync_channel(QUEUE);
            let reading = scope.spawn(move || {
                if let Err(error) = self.read(files, spool, &send) {
                    // Whoever does not listen any more has an error of its own.
                    let _ = send.send(Err(error));
                }
            });
            let consumed = consume(receive);
            match reading.join() {
                Ok(()) => consumed,
                // Only the reader of Parquet has parts that give up on broken files in this way.
                Err(_) => {
                    let detail = String::from("its reader gave up on it; write the file anew");
                    Err(consumed.err().unwrap_or(DatasetError::Parquet { detail }))
                }
            }
        })
    }

    fn read(
        &self,
        files: impl Iterator<Item = Result<Incoming, DatasetError>>,
        spool: &(dyn Fn() -> io::Result<File> + Sync),
        send: &SyncSender<Result<Message, DatasetError>>,
    ) -> Result<(), DatasetError> {
        let hand_on = |message| {
            let unheard = |_| failure(io::Error::other("nobody takes the rows any more"));
            send.send(Ok(message)).map_err(unheard)
        };
        let mut last = b'\n';
        let several = files.size_hint().0 > 1;
        for (index, file) in files.enumerate() {
            let file = file?;
            let name = file.name.clone();
            // The first line of a file is never the end of the last one of the file before.
            if last != b'\n' {
                hand_on(Message::Lines(vec![b'\n']))?;
                last = b'\n';
            }
            let mut take = |message: Message| {
                if let Message::Lines(text) = &message {
                    last = text.last().copied().unwrap_or(last);
                }
                hand_on(message)
            };
            let read = self.read_file(index, file, spool, &mut take);
            read.map_err(|error| if several || index > 0 { in_file(&name, error.row(), error) } else { error })?;
        }
        Ok(())
    }

    /// Reads file `index` of all.
    fn read_file(
        &self,
        index: usize,
        file: Incoming,
        spool: &(dyn Fn() -> io::Result<File> + Sync),
        take: &mut dyn FnMut(Message) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        let Incoming { name, form, source } = file;
        let (stream, whole): (Box<dyn Read + Send>, _) = match source {
            Source::Stream(stream) => (stream, None),
            Source::File(file) => (Box::new(file.try_clone().map_err(failure)?), Some(file)),
        };
        let mut opened = forms::open(stream, self.form.or(form), self.max_bytes)?;
        let (form, packing) = (opened.form, opened.packing);
        take(Message::Begins { name, form, packing })?;
        let mut take = |text: &[u8]| if text.is_empty() { Ok(()) } else { take(Message::Lines(text.to_vec())) };
        if form == Form::Parquet {
            let file = match whole.filter(|_| packing == Packing::Plain) {
                Some(file) => file,
                None => spooled(&mut opened.bytes, spool)?,
            };
            parquet::lines(parquet::Seekable::new(file).map_err(failure)?, self.reads().as_ref(), &mut take)
        } else if index > 0 && form == Form::Jsonl {
            // A mark is only expected where the first file begins.
            forms::lines(form, forms::skip_mark(opened.bytes)?, self.limits.max_row_bytes, &mut take)
        } else {
            forms::lines(form, opened.bytes, self.limits.max_row_bytes, &mut take)
        }
    }

    /// The columns that are read of a file; none where that is all of them.
    fn reads(&self) -> Option<BTreeSet<String>> {
        let mut names = self.map.as_ref()?.reads()?;
        let layout = self.layout.unwrap_or(Layout::Rows);
        names.extend(layout.reads().iter().map(|name| (*name).to_owned()));
        Some(names)
    }

    /// Whether what stands in a column can come to be stored.
    fn uses(&self, layout: Layout, column: &str) -> bool {
        let names = self.map.as_ref().and_then(ColumnMap::reads);
        layout.reads().contains(&column) || names.is_none_or(|names| names.contains(column))
    }

    /// The layout of a first row. Whoever says how columns are to be read means the columns as they are.
    pub(super) fn recognise(&self, fields: &Map<String, Value>) -> Layout {
        match (self.layout, &self.map) {
            (Some(layout), _) => layout,
            (None, Some(_)) => Layout::Rows,
            (None, None) if self.columns != Columns::default() => Layout::Rows,
            (None, None) => Layout::recognise(fields),
        }
    }

    /// The row that is made of a line.
    pub(super) fn shape(
        &self,
        layout: Layout,
        line: &Line<'_>,
        fields: Map<String, Value>,
    ) -> Result<Map<String, Value>, DatasetError> {
        let row = line.number;
        if layout != Layout::Rows || self.map.is_some() {
            let text = str::from_utf8(line.text).unwrap_or_default();
            numbers::check_exact(row, text, &fields, |name| self.uses(layout, name))?;
        }
        let fields = layout.apply(row, fields)?;
        match &self.map {
            Some(map) => map.apply(row, fields),
            None => Ok(fields),
        }
    }
}

/// All bytes in a file, at its beginning.
fn spooled(bytes: &mut impl Read, spool: &(dyn Fn() -> io::Result<File> + Sync)) -> Result<File, DatasetError> {
    let mut file = spool().map_err(failure)?;
    io::copy(bytes, &mut file).map_err(failure)?;
    file.seek(SeekFrom::Start(0)).map_err(failure)?;
    Ok(file)
}

/// The columns of a line.
pub(super) fn read_fields(row: u64, text: &[u8]) -> Result<Map<String, Value>, DatasetError> {
    let text = str::from_utf8(text).map_err(|error| DatasetError::NotUtf8 { row, byte: error.valid_up_to() + 1 })?;
    super::read_fields(row, text)
}

/// Which rows are of which file, where there are several.
#[derive(Default)]
struct Places {
    /// Whether more files than one were announced.
    several: bool,
    /// Each file with the rows before it.
    files: Vec<(String, u64)>,
    lines: u64,
}

impl Places {
    fn begin(&mut self, name: String) {
        self.files.push((name, self.lines));
    }

    fn pass(&mut self, text: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', text).count() as u64;
    }

    /// An error of the check, whose row is counted over all files.
    fn name(&self, error: DatasetError) -> DatasetError {
        let of = error.row().and_then(|row| Some((row, self.files.iter().rfind(|(_, before)| *before < row)?)));
        match of {
            Some((row, (file, before))) if self.several || self.files.len() > 1 => {
                in_file(file, Some(row - before), error)
            }
            _ => error,
        }
    }
}

/// An error of a file, of which there are several.
fn in_file(file: &str, row: Option<u64>, error: DatasetError) -> DatasetError {
    DatasetError::InFile { file: file.to_owned(), row, source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use serde_json::json;

    use super::*;

    fn intake() -> Intake {
        let (columns, limits) = (Columns::default(), Limits::default());
        Intake { form: None, layout: None, map: None, columns, limits, max_bytes: 1 << 30 }
    }

    fn stream(bytes: &[u8]) -> Incoming {
        Incoming { name: String::from("a"), form: None, source: Source::Stream(Box::new(Cursor::new(bytes.to_vec()))) }
    }

    fn take(intake: &Intake, files: Vec<Incoming>) -> Result<(String, Taken), DatasetError> {
        let mut stored = Vec::new();
        let store = &mut |bytes: &[u8]| {
            stored.extend_from_slice(bytes);
            Ok(())
        };
        let taken = intake.take(files.into_iter().map(Ok), &tempfile::tempfile, store)?;
        Ok((String::from_utf8(stored).unwrap(), taken))
    }

    #[test]
    fn json_lines_stay_byte_by_byte() {
        let text = "\u{feff}{\"prompt\":  \"a\"}\r\n\n{\"prompt\":\"b\"}";
        let (stored, taken) = take(&intake(), vec![stream(text.as_bytes())]).unwrap();
        assert_eq!((stored.as_str(), taken.summary.rows), (text, 2));
        assert_eq!((taken.form, taken.packing, taken.layout), (Form::Jsonl, Packing::Plain, Layout::Rows));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        let (stored, taken) = take(&intake(), vec![stream(&packed.finish().unwrap())]).unwrap();
        assert_eq!((stored.as_str(), taken.packing), (text, Packing::Gzip));
    }

    #[test]
    fn a_layout_is_recognised_by_the_first_row_and_asked_of_all() {
        let text = "\n{\"question\":\"q\",\"answer\":\"1 #### 1\"}\n\n{\"question\":\"r\",\"answer\":\"2 #### 2\"}";
        let (stored, taken) = take(&intake(), vec![stream(text.as_bytes())]).unwrap();
        assert_eq!((taken.layout, taken.summary.has_answer), (Layout::Gsm8k, 2));
        let lines: Vec<&str> = stored.lines().collect();
        assert_eq!(lines[1], r##"{"prompt":"q","completion":"1 #### 1","answer":"1"}"##);
        assert_eq!((lines[0], lines[2]), ("", ""), "rows keep their lines");
        let broken = format!("{text}\n{{\"question\":\"s\",\"answer\":\"3\"}}");
        let error = take(&intake(), vec![stream(broken.as_bytes())]).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_other_layout", Some(5)));
        let whole = Intake { columns: Columns { prompt: "question".into(), ..Columns::default() }, ..intake() };
        let (stored, taken) = take(&whole, vec![stream(text.as_bytes())]).unwrap();
        assert_eq!((stored.as_str(), taken.layout), (text, Layout::Rows), "named columns are meant as they are");
    }

    #[test]
    fn a_map_reads_what_a_layout_has_made() {
        let map = ColumnMap::parse(r#"{"prompt": "{prompt}\nA number.", "answer": "answer"}"#).unwrap();
        let intake = Intake { layout: Some(Layout::Gsm8k), map: Some(map), ..intake() };
        let text = "[{\"question\":\"q\",\"answer\":\"1 #### 1\",\"id\":7}]";
        let (stored, taken) = take(&intake, vec![stream(text.as_bytes())]).unwrap();
        assert_eq!(stored, "{\"prompt\":\"q\\nA number.\",\"answer\":\"1\",\"id\":7}\n");
        assert_eq!(taken.form, Form::Json);
    }

    #[test]
    fn a_number_that_would_change_is_refused_where_it_is_used() {
        let of = |map: &str| Intake { map: Some(ColumnMap::parse(map).unwrap()), ..intake() };
        let text = "{\"q\":\"p\",\"a\":12345678901234567890123,\"b\":1}";
        for map in
            [r#"{"prompt": "q", "answer": "{a}"}"#, r#"{"prompt": "q", "x": ["{a}"]}"#, r#"{"prompt": "q", "*": "*"}"#]
        {
            let error = take(&of(map), vec![stream(text.as_bytes())]).unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(1)), "{map}");
            assert!(error.to_string().contains("`a` holds an integer"), "{error}");
        }
        let (stored, _) = take(&of(r#"{"prompt": "q", "answer": "b"}"#), vec![stream(text.as_bytes())]).unwrap();
        assert_eq!(stored, "{\"prompt\":\"p\",\"answer\":1}\n");
        let school = "{\"question\":\"q\",\"answer\":\"1 #### 1\",\"id\":12345678901234567890123}";
        let error = take(&intake(), vec![stream(school.as_bytes())]).unwrap_err();
        assert!(error.to_string().contains("column `id` holds an integer"), "{error}");
        let preview =
            of(r#"{"prompt": "{a}"}"#).preview([Ok(stream(text.as_bytes()))].into_iter(), &tempfile::tempfile, 4);
        assert_eq!(preview.rows[0].error.as_ref().map(DatasetError::code), Some("row_wrong_type"));
        let plain = "{\"prompt\":\"p\",\"id\":12345678901234567890123}";
        assert_eq!(take(&intake(), vec![stream(plain.as_bytes())]).unwrap().0, plain, "lines stay as they are");
    }

    #[test]
    fn several_files_are_one_and_an_error_names_its_own() {
        let csv = |text: &str, name: &str| Incoming {
            name: name.to_owned(),
            form: Some(Form::Csv),
            ..stream(text.as_bytes())
        };
        let files =
            vec![stream(b"{\"prompt\":\"a\"}"), csv("prompt\nb\n", "b.csv"), stream(b"\xef\xbb\xbf{\"prompt\":\"c\"}")];
        let (stored, taken) = take(&intake(), files).unwrap();
        assert_eq!(stored, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n{\"prompt\":\"c\"}");
        assert_eq!(taken.summary.rows, 3);
        for (second, row, code) in
            [("prompt,x\nb,\n,1\n", 2, "row_wrong_type"), ("prompt\nb\nc,d\n", 2, "csv_ragged_row")]
        {
            let error = take(&intake(), vec![stream(b"{\"prompt\":\"a\"}\n"), csv(second, "b.csv")]).unwrap_err();
            assert_eq!((error.code(), error.row()), (code, Some(row)), "{error}");
            assert!(error.to_string().starts_with("b.csv, its row 2: "), "{error}");
        }
        // The first file is named as well, and what is wrong with a file as a whole.
        let good = || csv("prompt\na\n", "good.csv");
        let named = |bytes: &[u8], form: Option<Form>| Incoming { name: String::from("bad"), form, ..stream(bytes) };
        for (bytes, form, code) in [
            (&b"x,x\n1,2\n"[..], Some(Form::Csv), "csv_header"),
            (b"PAR1 and no more PAR1", None, "parquet_unreadable"),
            (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", None, "packing_broken"),
            (b"PK\x03\x04", None, "unknown_form"),
        ] {
            let bad = || named(bytes, form);
            for files in [vec![bad(), good()], vec![good(), bad()]] {
                let error = take(&intake(), files).unwrap_err();
                assert_eq!(error.code(), code, "{error}");
                assert!(error.to_string().starts_with("bad: "), "{error}");
            }
            assert!(!take(&intake(), vec![bad()]).unwrap_err().to_string().contains("bad"));
        }
        let error = take(&intake(), vec![named(b"prompt\n\xff\n", Some(Form::Csv)), good()]).unwrap_err();
        assert!(error.to_string().starts_with("bad, its row 1: "), "{error}");
    }

    #[test]
    fn the_first_error_is_told_and_limits_hold() {
        let text = "prompt,x\na,1\n,2\nc,3,4\n";
        let csv = Intake { form: Some(Form::Csv), ..intake() };
        let error = take(&csv, vec![stream(text.as_bytes())]).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(2)));
        let small = Intake { max_bytes: 40, ..csv.clone() };
        let error = take(&small, vec![stream(b"prompt\na\nb\nc\nd\n")]).unwrap_err();
        assert_eq!(error.code(), "expands_too_far");
        for bytes in [&b""[..], b"prompt\n"] {
            assert_eq!(take(&csv, vec![stream(bytes)]).unwrap_err().code(), "dataset_empty");
        }
    }

    #[test]
    fn a_preview_shows_rows_as_they_came_and_as_they_would_be() {
        let map = ColumnMap::parse(r#"{"prompt": "{q}!", "answer": "a"}"#).unwrap();
        let intake = Intake { map: Some(map), ..intake() };
        let text = b"{\"q\":\"x\",\"a\":1}\n{\"q\":\"y\"}\n{\"q\":\"z\",\"a\":[]}\n{\n{\"q\":1}";
        let preview = intake.preview(vec![Ok(stream(text))].into_iter(), &tempfile::tempfile, 4);
        assert_eq!(
            (preview.form, preview.layout, preview.error.is_none()),
            (Some(Form::Jsonl), Some(Layout::Rows), true)
        );
        let mapped: Vec<_> = preview.rows.iter().map(|row| row.mapped.clone()).collect();
        assert_eq!(
            mapped,
            [Some(json!({"prompt": "x!", "answer": 1})), None, Some(json!({"prompt": "z!", "answer": []})), None]
        );
        let codes: Vec<_> = preview.rows.iter().map(|row| row.error.as_ref().map(DatasetError::code)).collect();
        assert_eq!(codes, [None, Some("row_not_mapped"), Some("row_wrong_type"), Some("row_invalid_json")]);
        assert_eq!(preview.rows[0].source, json!({"q": "x", "a": 1}));
        let empty = intake.preview(vec![Ok(stream(b""))].into_iter(), &tempfile::tempfile, 4);
        assert_eq!(empty.error.unwrap().code(), "dataset_empty");
    }
}
