//! Whole audits, in this process, of verifiers that are right and of some that are not.

use serde_json::json;

use super::super::trust::{Course, Seen};
use super::*;
use crate::api::sandbox::End;

/// The columns `prompt`, `answer` and `completion` as a data set of ours has them.
fn source(file: &std::path::Path) -> RowSource {
    let columns = json!({"prompt": "prompt", "answer": "answer", "completion": "completion"});
    serde_json::from_value(json!({"file": [file, columns]})).unwrap()
}

/// What is told of a verifier, and why not to trust it.
type Found = (Vec<AuditedRow>, Vec<&'static str>);

fn audited(verifier: &Value, outside: &Value, rows: &[Value], most: usize) -> Found {
    audited_within(60.0, verifier, outside, rows, most)
}

fn audited_within(seconds: f64, verifier: &Value, outside: &Value, rows: &[Value], most: usize) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    std::fs::write(&file, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    let audit = Audit {
        verifier: verifier.clone(),
        outside: serde_json::from_value(outside.clone()).unwrap(),
        rows: source(&file),
        most,
        seconds,
    };
    let mut told = Vec::new();
    let tell = |row: &AuditedRow| {
        told.push(serde_json::from_value(serde_json::to_value(row)?)?);
        Ok(())
    };
    audit.perform(tell).unwrap();
    let mut seen = Seen::default();
    told.iter().for_each(|row| seen.count(row));
    seen.seconds.sort_by(f64::total_cmp);
    let course = Course { asked: most, there: rows.len(), end: &End::Done, seconds };
    let reasons = seen.reasons(&course).into_iter().map(|reason| reason.code).collect();
    (told, reasons)
}

fn reasons(verifier: &Value, rows: &[Value]) -> Vec<&'static str> {
    audited(verifier, &json!({}), rows, 1000).1
}

fn rows(count: usize, row: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..count).map(row).collect()
}

#[test]
fn too_wide_a_tolerance_is_found_out_and_not_by_asking_for_one_row() {
    let (wide, sums) =
        (json!({"type": "numeric", "tolerance": 501}), rows(200, |n| json!({"prompt": "a", "answer": n})));
    assert_eq!(audited(&wide, &json!({}), &sums, 200).1, ["other_answers_pass", "all_answers_pass"]);
    let few = audited(&wide, &json!({}), &sums, 1).1;
    assert_eq!(few, ["too_few_rows", "other_answers_pass", "all_answers_pass"], "texts come from the whole data set");
    assert_eq!(audited(&json!({"type": "numeric"}), &json!({}), &sums, 200).1, [""; 0]);
}

#[test]
fn texts_that_say_the_same_are_not_taken_for_wrong_ones() {
    let letter = |n: usize| ["A", "B", "C", "D"][n % 4];
    let chosen = rows(40, |n| {
        let said = format!("Because of {n}, the answer is ({}).", letter(n));
        json!({"prompt": "Which?", "answer": letter(n), "completion": said, "choices": ["w", "x", "y", "z"]})
    });
    assert_eq!(reasons(&json!({"type": "multiple_choice"}), &chosen), [""; 0]);
    let said = |n: usize| if n.is_multiple_of(2) { "yes" } else { "no" };
    let both = rows(
        40,
        |n| json!({"prompt": "a", "answer": said(n), "completion": format!("For {n} I would say: {}", said(n))}),
    );
    assert_eq!(reasons(&json!({"type": "choice", "labels": ["yes", "no"]}), &both), [""; 0]);
    assert_eq!(reasons(&json!({"type": "numeric"}), &rows(40, |n| json!({"prompt": "a", "answer": n % 5}))), [""; 0]);
    let cases = rows(40, |n| json!({"prompt": "a", "answer": (["Yes", "yes", "no", "NO"][n % 4])}));
    assert_eq!(reasons(&json!({"type": "exact", "ignore_case": true}), &cases), [""; 0]);
    let halves = rows(40, |n| json!({"prompt": "a", "answer": (["0.5", "1/2", "\\frac12", "3"][n % 4])}));
    assert_eq!(reasons(&json!({"type": "math"}), &halves), [""; 0]);
    // One answer that many others contain does not decide on all rows.
    let outlier =
        rows(100, |n| json!({"prompt": "a", "answer": if n == 0 { String::from("1") } else { format!("{n} apples") }}));
    let like = json!({"type": "string_check", "input": "{{ item.answer }}", "reference": "{{ sample.output_text }}",
                      "operation": "like"});
    let told = audited(&like, &json!({}), &outlier, 100).0;
    let tried: std::collections::BTreeSet<&String> = told
        .iter()
        .flat_map(|row| {
            let probes = &row.judged.as_ref().unwrap().probes;
            probes.iter().filter(|(probe, ..)| *probe == Probe::OtherAnswer).map(|(_, text, _)| text)
        })
        .collect();
    assert_eq!(tried.len(), MOST_TEXTS);
}

#[test]
fn answers_are_tried_in_the_form_that_the_verifier_reads() {
    let numbers = rows(40, |n| json!({"prompt": "a", "answer": n}));
    let letters = rows(40, |n| json!({"prompt": "a", "answer": (["A", "B", "C", "D"][n % 4])}));
    let places = rows(40, |n| json!({"prompt": "Which?", "answer": (n % 4).to_string(), "list": ["w", "x", "y", "z"]}));
    let marks = rows(40, |n| json!({"prompt": "a", "answer": (["low", "middle", "high"][n % 3])}));
    let labels = ["low", "middle", "high"];
    for (verifier, rows) in [
        (json!({"type": "numeric", "extract": "boxed"}), &numbers),
        (json!({"type": "numeric", "extract": "tag"}), &numbers),
        (json!({"type": "numeric", "extract": "marker"}), &numbers),
        (json!({"type": "math", "extract": ["boxed"]}), &numbers),
        (json!({"type": "math", "extract": ["marker"]}), &numbers),
        (json!({"type": "math", "extract": ["final_answer"]}), &numbers),
        (json!({"type": "exact", "extract": "tag"}), &letters),
        (json!({"type": "multiple_choice", "extract": "boxed"}), &letters),
        (json!({"type": "multiple_choice", "extract": "tag"}), &letters),
        (json!({"type": "multiple_choice", "answer": "index"}), &places),
        (json!({"type": "multiple_choice", "answer": "index", "extract": "all", "options_column": "list"}), &places),
        (json!({"type": "choice", "labels": labels, "extract": "boxed"}), &marks),
        (json!({"type": "choice", "labels": labels, "extract": "tag"}), &marks),
        (json!({"type": "choice", "labels": labels, "ordered": true}), &marks),
        (
            json!({"type": "multi", "graders": {"right": {"type": "numeric", "extract": "tag"}},
                "calculate_output": "right"}),
            &numbers,
        ),
    ] {
        assert_eq!(reasons(&verifier, rows), [""; 0], "{verifier}");
    }
}

#[test]
fn two_answers_are_enough_to_see_that_a_list_passes_and_one_shows_nothing() {
    let like = json!({"type": "string_check", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
                      "operation": "like"});
    // All rows of one answer come first.
    let both = rows(40, |n| json!({"prompt": "a", "answer": if n < 38 { "yes" } else { "no" }}));
    let (told, found) = audited(&like, &json!({}), &both, 1000);
    assert_eq!(found, ["all_answers_pass"]);
    let first = told[0].judged.as_ref().unwrap();
    let list = first.probes.iter().find(|(probe, ..)| *probe == Probe::AllAnswers).unwrap();
    assert_eq!(list.1, "no\nyes\nno");
    let same = rows(40, |_| json!({"prompt": "a", "answer": "yes"}));
    assert_eq!(reasons(&like, &same), ["no_other_answers"]);
    assert_eq!(reasons(&json!({"type": "regex", "pattern": "yes"}), &same), [""; 0], "it ignores the row");
}

#[test]
fn programs_are_tried_with_the_answers_of_other_rows() {
    let script = r#"while read -r line; do id=${line#*\"id\":}; echo "{\"id\": ${id%%,*}, \"reward\": 1}"; done"#;
    let outside = json!({"commands": {"any": {"argv": ["/bin/sh", "-c", script]}}});
    let command = json!({"type": "command", "command": "any"});
    let sums = rows(20, |n| json!({"prompt": "a", "answer": n}));
    let expected = ["other_answers_pass", "empty_passes", "echo_passes", "all_answers_pass"];
    assert_eq!(audited(&command, &outside, &sums, 1000).1, expected);
    let multi = json!({"type": "multi", "graders": {"any": command}, "calculate_output": "any"});
    assert_eq!(audited(&multi, &outside, &sums, 1000).1, expected);
}

#[test]
fn long_completions_are_no_fault_of_the_verifier() {
    for kilobytes in [25, 60, 600] {
        let long = rows(20, |n| {
            let said = format!("{}#### {n}", "it is so. ".repeat(kilobytes * 100));
            json!({"prompt": "a", "answer": n, "completion": said})
        });
        let (told, found) = audited(&json!({"type": "numeric"}), &json!({}), &long, 1000);
        assert_eq!(found, [""; 0], "{kilobytes}");
        let tried = told[0].judged.as_ref().unwrap().probes.iter().map(|(probe, ..)| *probe);
        assert_eq!(tried.filter(|probe| *probe == Probe::Repeated).count(), usize::from(kilobytes < 600));
    }
}

/// A program that takes a tenth of a second for each verdict, in four processes.
fn slow() -> (Value, Value) {
    let script = r#"while read -r line; do id=${line#*\"id\":}; sleep 0.1
        echo "{\"id\": ${id%%,*}, \"reward\": 0}"; done"#;
    let outside = json!({"commands": {"slow": {"argv": ["/bin/sh", "-c", script], "processes": 4}}});
    (json!({"type": "command", "command": "slow", "batch_size": 4}), outside)
}

#[test]
fn slow_programs_are_asked_for_many_verdicts_at_once() {
    let ((command, outside), sums) = (slow(), rows(12, |n| json!({"prompt": "a", "answer": n})));
    let began = Instant::now();
    let (told, found) = audited(&command, &outside, &sums, 12);
    assert_eq!((told.len(), found), (12, vec!["right_answers_fail"]));
    // 120 verdicts, which take 12 s one after the other.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn what_would_not_be_over_in_time_is_not_begun() {
    let ((command, outside), sums) = (slow(), rows(100, |n| json!({"prompt": "a", "answer": n})));
    let told = audited_within(2.0, &command, &outside, &sums, 100).0;
    assert!((1..100).contains(&told.len()), "{}", told.len());
    assert!(told.iter().all(|row| row.judged.as_ref().is_some_and(|text| text.probes.len() == Probe::ALL.len())));
}
