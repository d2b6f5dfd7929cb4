//! What hostile answers cost the `math` verifier: bytes that it allocates, and verdicts that it must not give. Times
//! are printed and not asserted, because they say as much about the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use anneal::verifier::{Case, Config, Outside, Score, Verifier};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, json};

/// Counts what the thread that asks has allocated and not freed, and the most of it.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that one verdict may hold beyond the texts that it is given.
const MAX_BYTES: isize = 16 << 20;

fn verifier() -> std::sync::Arc<dyn Verifier> {
    Config::parse(&json!({"type": "math"}), "").unwrap().build(&Outside::default())
}

fn verdict(verifier: &dyn Verifier, gold: &str, pred: &str) -> (Score, isize, Duration) {
    let row = Map::new();
    let case = Case { prompt: "", completion: pred, answer: Some(gold), row: &row };
    let before = HELD.get();
    MOST.set(before);
    let start = Instant::now();
    let score = verifier.verify(&case);
    (score, MOST.get() - before, start.elapsed())
}

/// Texts that were made to cost much, by name.
fn hostile() -> Vec<(&'static str, String)> {
    const MEGABYTE: usize = 1 << 20;
    let boxed = |inner: String| format!("\\boxed{{{inner}}}");
    let filled = |unit: &str| unit.repeat(MEGABYTE / unit.len());
    vec![
        ("a megabyte of digits", filled("7")),
        ("a megabyte of open braces", filled("{")),
        ("a megabyte of boxes", filled("\\boxed{")),
        ("a megabyte of closed boxes", filled("\\boxed{1}")),
        ("a megabyte of joined boxes", filled("\\boxed{1},")),
        ("a megabyte of dollars", filled("$")),
        ("a megabyte of prices", filled("$5 a bc ")),
        ("a megabyte of open parentheses", filled("\\(")),
        ("a megabyte of open displays", filled("\\[")),
        ("a megabyte of environments", filled("\\begin{")),
        ("a megabyte of answers", filled("answer is ")),
        ("a megabyte of numbers", filled("1 ")),
        ("a megabyte of sums", filled("1+")),
        ("a megabyte of words", filled("x")),
        ("a megabyte of brackets", filled("(1,")),
        ("a megabyte of backslashes", filled("\\")),
        ("ten thousand braces", boxed(format!("{}1{}", "{".repeat(10_000), "}".repeat(10_000)))),
        ("three thousand braces", boxed(format!("{}1{}", "{".repeat(3_000), "}".repeat(3_000)))),
        ("nested fractions", boxed(format!("{}1{}", "\\frac{1}{".repeat(700), "}".repeat(700)))),
        ("nested roots", boxed(format!("{}2{}", "\\sqrt{".repeat(38), "}".repeat(38)))),
        ("a tower", boxed(String::from("9^9^9^9"))),
        ("a tall tower", boxed(vec!["9"; 2_000].join("^"))),
        ("a large power", boxed(String::from("(x+y+z+1)^{64}"))),
        ("powers of powers", boxed(String::from("((((x+1)^{9})^{9})^{9})^{9}"))),
        ("a large factorial", boxed(String::from("99999999!"))),
        ("repeated factorials", boxed(format!("5{}", "!".repeat(1_000)))),
        ("division by zero", boxed(String::from("\\frac{1}{0}"))),
        ("division by a hidden zero", boxed(String::from("\\frac{1}{\\sin^2 2+\\cos^2 2-1}"))),
        ("a long sum", boxed(vec!["x"; 900].join("+"))),
        ("a long product", boxed((0..400).map(|n| format!("(x+{n})")).collect())),
        ("a sum of many radicals", boxed((2..300).map(|n| format!("\\sqrt{{{n}}}+")).collect::<String>() + "1")),
        ("a sum of sines", boxed((2..300).map(|n| format!("\\sin {n}+")).collect::<String>() + "1")),
        (
            "a large set",
            boxed(format!("\\{{{}\\}}", (0..256).map(|n| format!("\\sin {n}")).collect::<Vec<_>>().join(","))),
        ),
        (
            "a set of functions",
            boxed(format!("\\{{{}\\}}", (0..200).map(|n| format!("\\sin x^{n}")).collect::<Vec<_>>().join(","))),
        ),
        ("a chain of inequalities", boxed(vec!["x"; 300].join("<"))),
        ("many signs", boxed(format!("{}1", "-".repeat(4_000)))),
        ("many two-fold signs", boxed(vec!["\\pm 1"; 500].join(","))),
        ("a long decimal", boxed(format!("0.{}", "3".repeat(8_000)))),
        ("a large exponent", boxed(String::from("1e999999999"))),
        ("binomials", boxed(String::from("\\binom{1000}{500}^{16}"))),
        ("many variables", boxed((0..500).map(|n| format!("x_{{{n}}}+")).collect::<String>() + "1")),
        ("a text of no letters", filled("\u{200b}")),
        ("wide characters", filled("界")),
    ]
}

#[test]
fn hostile_answers_hold_little_and_are_never_right() {
    let verifier = verifier();
    let (mut times, mut largest) = (Vec::new(), (0, ""));
    for (name, text) in hostile() {
        for gold in ["42", "\\sin x + x^2", "\\{1,2,3\\}"] {
            let (score, bytes, time) = verdict(&*verifier, gold, &text);
            assert!(bytes <= MAX_BYTES, "{name}: {bytes} bytes");
            assert!(score.reward == 0.0, "{name}: {score:?}");
            times.push((time, name));
            largest = largest.max((bytes, name));
        }
        // The fastest of three, because the machine has more to do.
        let three = [0; 3].map(|_| verdict(&*verifier, &text, &text));
        let (bytes, time) = (three[0].1, three.iter().map(|(_, _, time)| *time).min().unwrap());
        assert!(bytes <= MAX_BYTES, "{name} as the expected answer: {bytes} bytes");
        times.push((time, name));
        largest = largest.max((bytes, name));
    }
    times.sort_unstable_by(|a, b| b.cmp(a));
    println!("slowest: {:?}; largest: {} bytes for {}", &times[..8], largest.0, largest.1);
}

#[test]
fn what_is_not_defined_equals_nothing() {
    let verifier = verifier();
    for (gold, pred) in [
        ("0", "\\frac{1}{0}"),
        ("\\frac{1}{0}", "\\frac{2}{0}"),
        ("1", "0^0"),
        ("\\frac{0}{0}", "1"),
        ("x", "\\frac{x}{0}"),
    ] {
        let (score, ..) = verdict(&*verifier, gold, &format!("\\boxed{{{pred}}}"));
        assert!(score.reward == 0.0, "{gold} and {pred}: {score:?}");
    }
}

/// Texts made of what answers are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "1",
        "2",
        "12",
        "0.5",
        "x",
        "y",
        "+",
        "-",
        "*",
        "/",
        "^",
        "_",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\\frac",
        "\\sqrt",
        ",",
        ";",
        "=",
        "<",
        "\\le",
        "\\pm",
        "\\pi",
        "\\sin",
        "\\text{cm}",
        "\\{",
        "\\}",
        "\\infty",
        "\\cup",
        "|",
        "!",
        "%",
        "$",
        "\\boxed{",
        "e",
        "i",
        " ",
        "\\begin{pmatrix}",
        "\\end{pmatrix}",
        "½",
    ];
    proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24).prop_map(|pieces| pieces.concat())
}

/// Sums and products of small numbers and two letters, and the same with the operands of each operator exchanged.
fn expression() -> impl Strategy<Value = (String, String)> {
    let leaf = proptest::sample::select(vec!["1", "2", "3", "7", "x", "y"])
        .prop_map(|leaf| (leaf.to_owned(), leaf.to_owned()));
    leaf.prop_recursive(4, 16, 2, |inner| {
        (inner.clone(), inner, proptest::bool::ANY).prop_map(|((a, a2), (b, b2), sum)| match sum {
            true => (format!("({a}+{b})"), format!("({b2}+{a2})")),
            false => (format!("({a})({b})"), format!("({b2})({a2})")),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_has_a_verdict_and_holds_little(gold in soup(), pred in soup()) {
        let verifier = verifier();
        let (score, bytes, _) = verdict(&*verifier, &gold, &format!("The answer is \\boxed{{{pred}}}."));
        prop_assert!(bytes <= MAX_BYTES);
        prop_assert!(score.reward == 0.0 || score.reward == 1.0);
    }

    #[test]
    fn sums_and_products_do_not_depend_on_order((one, other) in expression()) {
        let verifier = verifier();
        let (score, ..) = verdict(&*verifier, &one, &format!("\\boxed{{{other}}}"));
        prop_assert!(score.reward == 1.0, "{one} {other} {score:?}");
        let (score, ..) = verdict(&*verifier, &one, &format!("\\boxed{{{other}+1}}"));
        prop_assert!(score.reward == 0.0, "{one} {other}+1 {score:?}");
    }

    #[test]
    fn integers_equal_themselves_only(a in -1_000_000_000_i64..1_000_000_000, off in 1_i64..1_000) {
        let verifier = verifier();
        prop_assert_eq!(verdict(&*verifier, &a.to_string(), &format!("so the answer is {a}.")).0.reward, 1.0);
        prop_assert_eq!(verdict(&*verifier, &a.to_string(), &format!("so the answer is {}.", a + off)).0.reward, 0.0);
    }
}
