//! `docs/metrics.md` shows the catalogue of metrics, word by word and in its order, and no other metric.

use std::fs;
use std::path::Path;

use anneal::job::metric::METRICS;

const HEADING: [&str; 4] = ["metric", "unit", "when", "what it is"];

/// The cells of a line of a table; none for any other line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The rows of every table of metrics; the first cell of its heading is what tells such a table from others.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let (mut rows, mut heading) = (Vec::new(), None);
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            heading = None;
            continue;
        };
        let is_rule = cells.iter().all(|cell| cell.bytes().all(|b| b == b'-' || b == b':'));
        match &heading {
            None => {
                assert!(cells[0] != HEADING[0] || cells == HEADING, "an unknown table of metrics: {line}");
                heading = Some(cells);
            }
            Some(heading) if !is_rule && heading[0] == HEADING[0] => rows.push(cells),
            Some(_) => {}
        }
    }
    rows
}

#[test]
fn the_tables_of_the_documentation_are_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let text = fs::read_to_string(&path).unwrap();
    let shown = rows(&text);
    for metric in METRICS {
        let expected = [&format!("`{}`", metric.name), metric.unit, metric.when.text(), metric.meaning];
        let found: Vec<&Vec<&str>> = shown.iter().filter(|row| row[0] == expected[0]).collect();
        assert_eq!(found, [&expected], "the row of {} in docs/metrics.md", metric.name);
    }
    let order: Vec<String> = METRICS.iter().map(|metric| format!("`{}`", metric.name)).collect();
    assert_eq!(
        shown.iter().map(|row| row[0]).collect::<Vec<_>>(),
        order,
        "rows beside the catalogue, or another order"
    );
}

#[test]
fn rows_are_read_from_tables_of_metrics_alone() {
    let text = "| metric | unit | when | what it is |\n|---|:-:|---|---|\n| `a` | 1 | b | C. |\n\n\
                | field | unit |\n|---|---|\n| `d` | 1 |\n| metric | stray |\n";
    assert_eq!(rows(text), [["`a`", "1", "b", "C."]]);
}
