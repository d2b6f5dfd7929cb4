//! The catalogue is consistent: names, sentences and what they refer to.

use std::collections::BTreeSet;

use super::*;

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
    for known in METRICS {
        assert_eq!(metric(known.name), Some(known));
    }
    assert_eq!(metric("part/style").map(|metric| metric.name), Some("part/NAME"));
    assert_eq!(metric("reward/median"), None);
}

#[test]
fn names_are_one_or_two_plain_words() {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let valid = |name: &str| name.split('/').count() <= 2 && name.split('/').all(plain);
    for metric in METRICS.iter().filter(|metric| !metric.name.starts_with(PARTS)) {
        assert!(valid(metric.name), "{}", metric.name);
    }
    assert!(["", "a/b/c", "a/", "A", "a-b"].iter().all(|name| !valid(name)));
}

#[test]
fn every_entry_is_one_sentence_that_fits_a_table() {
    for Metric { name, unit, when, meaning } in METRICS {
        assert!(meaning.ends_with('.') && !meaning.contains(". "), "{name}: {meaning}");
        assert!(meaning.starts_with(|first: char| first.is_ascii_uppercase() || first == '`'), "{name}: {meaning}");
        let when = &when.text();
        assert!(!when.is_empty() && !when.ends_with('.'), "{name}: {when}");
        assert!(!unit.is_empty(), "{name}");
        for text in [unit, when, meaning] {
            assert!(!text.contains(['|', '\n']) && !text.contains("  ") && text.trim() == *text, "{name}: {text}");
            assert_eq!(text.matches('`').count() % 2, 0, "{name}: {text}");
        }
    }
}

#[test]
fn metrics_that_a_meaning_refers_to_exist() {
    for Metric { name, meaning, .. } in METRICS {
        // Code between backticks that looks like a metric: two plain words and a slash.
        for code in meaning.split('`').skip(1).step_by(2) {
            let looks_like_one = code.contains('/') && !code.contains([' ', '(']);
            assert!(!looks_like_one || metric(code).is_some(), "{name} refers to {code}");
        }
    }
}

#[test]
fn masses_are_split_into_five_parts_of_each_sign() {
    for sign in ["success", "failure"] {
        for low in [0, 20, 40, 60, 80] {
            assert!(metric(&format!("mass/{sign}_{low}_{}", low + 20)).is_some());
        }
    }
}
