//! Tests of queries: what is the same, what is refused, and what would never end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::verifier::outside::Effort;
use crate::verifier::{self, Case, Outside, Score, ScoreStatus};

const SETUP: &str = "
    PRAGMA foreign_keys=OFF;
    BEGIN TRANSACTION;
    create table city (id integer primary key, name text, country text, people integer, area real);
    insert into city values (1, 'Paris', 'FR', 2100000, 105.4), (2, 'Lyon', 'FR', 520000, 47.9),
                            (3, 'Rome', 'IT', 2800000, 1285.0), (4, 'Oslo', 'NO', 700000, 454.0), (5, null, 'NO', null, null);
    create view french as select * from city where country = 'FR';
    COMMIT;";

fn score_of(mut config: Value, row: &Value, completion: &str, answer: &str) -> Score {
    config["type"] = json!("sql");
    if config.get("setup_column").is_none() {
        config["setup"] = json!(SETUP);
    }
    let case = Case { prompt: "", completion, answer: Some(answer), row: row.as_object().unwrap() };
    verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
}

fn score(config: Value, completion: &str, answer: &str) -> Score {
    score_of(config, &json!({}), completion, answer)
}

#[test]
fn queries_are_right_when_they_give_the_same_rows() {
    for (completion, answer) in [
        ("select name from city where country = 'FR'", "select name from french"),
        ("SELECT NAME AS n FROM city WHERE country='FR' ORDER BY id DESC;", "select name from french"),
        ("Let me see.\n```sql\nselect count(*) from city\n```\nThat is it.", "select 5"),
        ("<answer>select sum(people) from city</answer>", "select sum(people) from city"),
        ("The query:\n\nwith f as (select * from french)\nselect avg(area) from f;", "select (105.4 + 47.9) / 2"),
        ("select 0.1 + 0.2", "select 0.3"),
        ("select name from city where people is null", "select null"),
        ("select name from city order by people desc limit 1", "select 'Rome'"),
        ("values (1), (2)", "select 1 union all select 2"),
        ("select date('now')", "select '2025-01-01'"),
        ("select current_timestamp", "select '2025-01-01 00:00:00'"),
    ] {
        let score = score(json!({}), completion, answer);
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 1.0), "{completion}: {score:?}");
    }
}

#[test]
fn a_query_inside_a_line_is_found_behind_its_mark() {
    let query = "SELECT name FROM city WHERE country = 'FR'";
    for around in [
        "SQL: {}",
        "The query is: {};",
        "Final answer: {}",
        "Use `{}` for it.",
        "1. {}",
        "> {}",
        "/* q */ {}",
        "```sql\n/* q */ {}\n```",
        "\\boxed{{}}",
        "{\"sql\": \"{}\"}",
        "A draft: SELECT 1; better: {}",
    ] {
        let completion = around.replacen("{}", query, 1);
        let score = score(json!({}), &completion, "select name from french");
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 1.0), "{completion}: {score:?}");
    }
    for nothing in
        ["Look: select the rows.", "I would select 1", "SQL: SELECT name FROM nowhere", "SQL: drop table city"]
    {
        let score = score(json!({}), nothing, "select 1");
        assert_eq!(score.status, ScoreStatus::Unparsable, "{nothing}: {score:?}");
    }
}

#[test]
fn numbers_are_near_or_the_same_and_a_fraction_is_never_a_whole_number() {
    for (completion, answer) in [
        ("select 1234567891.0000002", "select 1234567891.0"),
        ("select 1234567891", "select 1234567891.0000002"),
        ("select 1.0 / 3", "select 0.33333333334"),
        ("select -1e300", "select -1.0000000001e300"),
        ("select 0.1 + 0.2, 'a' union all select 0.3, 'b'", "select 0.3, 'a' union all select 0.1 + 0.2, 'b'"),
        ("select 9e999", "select 9e999"),
        ("select 9007199254740993", "select 9007199254740993"),
    ] {
        let score = score(json!({}), completion, answer);
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 1.0), "{completion}: {score:?}");
    }
    for (completion, answer) in [
        ("select 1234567894.7", "select 1234567890"),
        ("select 1234567894.99", "select 1234567891.3"),
        ("select 1234567891.3", "select 1234567891"),
        ("select 1234567891", "select 1234567892"),
        ("select 0.333", "select 1.0 / 3"),
        ("select 9007199254740993", "select 9007199254740992"),
        ("select 0.1, 'a' union all select 0.2, 'b'", "select 0.2, 'a' union all select 0.1, 'b'"),
        ("select 1 union all select 1 union all select 2", "select 1 union all select 2 union all select 2"),
    ] {
        let score = score(json!({}), completion, answer);
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 0.0), "{completion}: {score:?}");
    }
    let answer = |query: &str| score(json!({}), query, "select 1").answer.unwrap();
    assert_eq!(answer("select 0.1 + 0.2"), "[[0.3]]");
    assert_eq!(answer("select 1234567894.7"), "[[1234567894.7]]");
}

#[test]
fn a_query_is_found_among_sentences_results_and_drafts() {
    for completion in [
        "With these tables, the query is:\nSELECT name FROM french",
        "Select the big ones:\n\nSELECT name FROM french;",
        "SELECT name FROM french\n\nThis works.",
        "SELECT name FROM french;\nThis works.",
        "SELECT name FROM french; This works.",
        "SELECT name\nFROM french\nThis gives the names of the cities.",
        "```sql\nSELECT name FROM french\n```\nIt gives:\n```\n| name |\n| Paris |\n```",
        "```\nSELECT mayor FROM city\n```\nNo:\n```sql\n-- better\nSELECT name FROM french\n```",
        "SELECT mayor FROM city\n\nThere is none, so\n\nSELECT name FROM french",
        "WITH f AS (\n  SELECT * FROM city\n\n  WHERE country = 'FR'\n)\n\nSELECT name FROM f",
        "SELECT name FROM city WHERE id = 1\nUNION\nSELECT name FROM city WHERE id = 2",
        "SELECT name FROM city WHERE id = 1\n\nUNION\n\nSELECT name FROM city WHERE id = 2",
        "<think>select 1</think>\nSELECT name FROM french",
    ] {
        let score = score(json!({}), completion, "select name from french");
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 1.0), "{completion}: {score:?}");
    }
    let broken = score(json!({}), "I would say:\nSELECT mayor FROM city\nThat is all.", "select 1");
    assert!(broken.reward == 0.0 && broken.detail.unwrap().contains("the query fails"));
    let many = "select 1 from nowhere\n".repeat(40_000);
    assert_eq!(score(json!({}), &many, "select 1").reward, 0.0);
}

#[test]
fn functions_that_are_made_anew_give_what_those_of_sqlite_give() {
    let plain = rusqlite::Connection::open_in_memory().unwrap();
    let values = [
        "null",
        "''",
        "'a'",
        "'banana'",
        "'ä—ä'",
        "' x  '",
        "'an'",
        "12.5",
        "-7",
        "x'0061'",
        "x'61'",
        "1e20",
        "0.1 + 0.2",
        "-1e-7",
    ];
    let mut calls: Vec<String> = Vec::new();
    for one in values {
        for name in ["trim", "ltrim", "rtrim"] {
            calls.push(format!("{name}({one})"));
            calls.extend(values.map(|two| format!("{name}({one}, {two})")));
        }
        for two in values {
            calls.push(format!("instr({one}, {two})"));
            calls.extend(values.map(|three| format!("replace({one}, {two}, {three})")));
        }
    }
    for calls in calls.chunks(100) {
        let shown: Vec<String> = calls.iter().map(|call| format!("quote({call})")).collect();
        let query = format!("select {}", shown.join(" || ';' || "));
        let expected: String = plain.query_row(&query, [], |row| row.get(0)).unwrap();
        let query = format!("select {}", shown.join(", "));
        let score = score(json!({"expected": "rows"}), &query, "[[1]]");
        let given: Vec<Vec<String>> = serde_json::from_str(&score.answer.unwrap()).unwrap();
        for ((call, given), expected) in calls.iter().zip(&given[0]).zip(expected.split(';')) {
            assert_eq!(given, expected, "{call}");
        }
    }
}

#[test]
fn long_steps_do_not_outlast_the_time_limit() {
    let count =
        "with recursive c(i) as (select 1 union all select i + 1 from c where i < 1000000) select count(*) from c";
    for condition in [
        "instr(hex(zeroblob(32000)) || i, hex(zeroblob(16000)) || '1' || i)",
        "replace(hex(zeroblob(32000)) || i, hex(zeroblob(16000)) || '1' || i, '')",
        "trim(hex(zeroblob(32000)) || i, printf('%030000d', i) || '1')",
        "hex(zeroblob(32000)) || i like '%' || substr(hex(zeroblob(125)), 1, 250) || '1' || i",
        "hex(zeroblob(32000)) || i glob '*' || substr(hex(zeroblob(125)), 1, 250) || '1' || i",
        "hex(zeroblob(32000)) || i > printf('%060000d', i)",
    ] {
        let effort = Effort::of(Duration::from_secs(10));
        let score = score(json!({"time_limit_seconds": 2}), &format!("{count} where {condition}"), "select 1");
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 0.0), "{condition}: {score:?}");
        assert!(
            score.detail.as_deref().unwrap_or_default().contains("of a processor's time"),
            "{condition}: {score:?}"
        );
        assert!(!effort.is_over(), "{condition}");
    }
    for refused in ["json_patch('{}', '{}')", "unhex('00', '-')"] {
        let score = score(json!({}), &format!("select {refused}"), "select 1");
        assert!(score.reward == 0.0 && score.detail.as_deref().unwrap().contains("not authorized"), "{score:?}");
    }
}

#[test]
fn other_rows_more_rows_and_another_order_are_wrong() {
    for (completion, answer, reason) in [
        ("select name from city", "select name from french", "5 rows; expected are 2"),
        ("select name, id from french", "select name from french", "2 columns; expected are 1"),
        ("select upper(name) from french", "select name from french", "other rows"),
        (
            "select name from french union all select 'Lyon'",
            "select 'Paris' union all select 'Paris' union all select 'Lyon'",
            "other rows",
        ),
        ("select name from french order by 1", "select name from french order by name desc", "another order"),
        ("select mayor from city", "select 1", "no such column"),
        ("select 1; select 1", "select 1", "more than one statement"),
        ("with x as (select 1) delete from city", "select 1", "not admitted"),
        ("select load_extension('x')", "select 1", "not authorized"),
        ("select random() * 0 + 1", "select 1", "not authorized"),
        ("select '1'", "select 1", "other rows"),
    ] {
        let score = score(json!({}), completion, answer);
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 0.0), "{completion}: {score:?}");
        assert!(score.detail.as_deref().unwrap_or_default().contains(reason), "{completion}: {score:?}");
    }
    let any = score(
        json!({"order": "ignored"}),
        "select name from french order by 1",
        "select name from french order by 1 desc",
    );
    assert_eq!(any.reward, 1.0);
    let kept = score(json!({"order": "kept"}), "select name from french order by id desc", "select name from french");
    assert_eq!(kept.reward, 0.0);
}

#[test]
fn rows_may_be_expected_as_json_and_rows_may_bring_their_tables() {
    let rows = json!({"expected": "rows"});
    assert_eq!(
        score(rows.clone(), "select name, people from french", r#"[["Lyon", 520000.0], ["Paris", 2100000]]"#).reward,
        1.0
    );
    assert_eq!(
        score(
            rows.clone(),
            "select name, area from french",
            r#"[{"n": "Lyon", "a": 47.9}, {"n": "Paris", "a": 105.4}]"#
        )
        .reward,
        1.0
    );
    for wrong in ["select", "[1]", "{}", "[[1], [1, 2]]", "[[[1]]]"] {
        assert_eq!(score(rows.clone(), "select 1", wrong).status, ScoreStatus::Error, "{wrong}");
    }
    let row = json!({"tables": ["create table t (a)", "insert into t values (1), (2)"], "gold": [[1], [2]], "no": 3, "bad": "create tabel t"});
    let config = |column: &str| json!({"setup_column": column, "expected": "rows", "answer_column": "gold"});
    assert_eq!(score_of(config("tables"), &row, "select a from t", "").reward, 1.0);
    for column in ["no", "absent", "bad"] {
        assert_eq!(score_of(config(column), &row, "select 1", "").status, ScoreStatus::Error, "{column}");
    }
}

#[test]
fn what_cannot_be_compared_with_is_an_error_and_no_query_is_unparsable() {
    for answer in ["select mayor from city", "", "delete from city", "select name from city where 0"] {
        assert_eq!(score(json!({}), "select 1", answer).status, ScoreStatus::Error, "{answer}");
    }
    let empty = score(json!({"allow_empty": true}), "select 1 where 0", "select name from city where id > 10");
    assert_eq!(empty.reward, 1.0);
    for completion in ["", "I do not know.", "```sql\n```", "selected cities"] {
        assert_eq!(score(json!({}), completion, "select 1").status, ScoreStatus::Unparsable, "{completion}");
    }
}

#[test]
fn a_setup_that_sqlite_does_not_run_is_refused_where_it_stands() {
    let refused = |config: Value| {
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        (errors[0].pointer.clone(), errors[0].code)
    };
    assert_eq!(refused(json!({"type": "sql"})), ("/v/setup".to_owned(), "out_of_range"));
    for setup in [
        "create tabel t (a)",
        "attach '/tmp/x.db' as x",
        "create virtual table t using fts5(a)",
        "create temp table t (a)",
        "vacuum into '/tmp/x.db'",
        "create table t as with recursive n(i) as (select 1 union all select i + 1 from n) select i from n",
        "create table t as with recursive n(i) as (select 1 union all select i + 1 from n) select zeroblob(60000) from n",
    ] {
        assert_eq!(refused(json!({"type": "sql", "setup": setup})), ("/v/setup".to_owned(), "invalid_sql"), "{setup}");
    }
}

/// What SQLite takes at most for a query that takes all it can get, beside what other tests take at the same time.
const MOST_BYTES: i64 = 64 << 20;

#[test]
fn greedy_queries_end_without_much_memory() {
    // SAFETY: reads a counter of SQLite's, and sets it back to what is in use.
    let highest = || unsafe { libsqlite3_sys::sqlite3_memory_highwater(1) };
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n)";
    let many = "a(x) as (select 1 union all select 2)";
    let nested: String = (0..40).map(|n| format!(", t{}(x) as (select p.x from t{n} p, t{n} q)", n + 1)).collect();
    for query in [
        format!("{endless} select count(*) from n"),
        format!("{endless} select i from n"),
        format!("{endless} select zeroblob(60000) from n order by 1"),
        format!("{endless} select i, printf('%060000d', i) as p from n order by p desc"),
        format!("{endless} select distinct printf('%050000d', i) from n"),
        format!("{endless} select printf('%050000d', i), count(*) from n group by 1"),
        format!("{endless} select group_concat(i) from n"),
        format!("{endless} select json_group_array(i) from n"),
        format!("{endless} select printf('%050000d', i) from n union select 'x'"),
        format!("{endless} select sum(i) over (order by printf('%050000d', i)) from n"),
        "with recursive s(x) as (select 'ab' union all select x || x from s) select max(x) from s".to_owned(),
        "select zeroblob(1000000000)".to_owned(),
        "select replace(printf('%060000d', 0), '0', 'abcdefgh')".to_owned(),
        format!("select sum(x) from {}(select 1 as x){}", "(select x + x as x from ".repeat(25), ")".repeat(25)),
        format!("with {many}, t0(x) as (select x from a) {nested} select count(*) from t40"),
        "select count(*) from city a, city b, city c, city d, city e, city f, city g, city h, city i, city j"
            .to_owned(),
        format!("select {}1", "not ".repeat(5000)),
        format!("select {}", "1,".repeat(30_000) + "1"),
        format!("select 'a' like '{}'", "%a".repeat(30_000)),
    ] {
        let shown: String = query.chars().take(120).collect();
        highest();
        let score = score(json!({"max_steps": 100_000}), &query, "select 1");
        let taken = highest();
        assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 0.0), "{shown}: {score:?}");
        assert!(taken < MOST_BYTES, "{shown}: took {taken} bytes");
    }
}
