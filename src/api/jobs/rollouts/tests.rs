//! Pages of completions, of all forms and in all orders.

use std::fs;

use serde_json::json;

use super::cursor::Cursor;
use super::groups::Shown;
use super::order::{Order, Page, Part};
use super::source::{Source, Wanted};
use crate::api::rollout_sets::filter::RolloutFilter;
use crate::job::inference::FinishReason;
use crate::job::rollout_set::PARTS_FOLDER;
use crate::job::{JobId, RolloutGroup, ScoreStatus};
use crate::store::Location;
use crate::store::Store;

/// Two parts of two prompts with three completions each; in the form of parts and in that of a set. A completion says its
/// numbers in quotes.
async fn sources(data: &std::path::Path) -> [Source; 2] {
    let (store, job) = (Store::open(data).await.unwrap(), JobId::generate());
    let folder = store.files().job(job).join(PARTS_FOLDER);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("000002.tmp"), "not whole").unwrap();
    let mut set = String::new();
    for step in 0..2_u64 {
        let mut part = String::new();
        for row in 0..2_u64 {
            let rollouts: Vec<serde_json::Value> = (0..3)
                .map(|sample| {
                    json!({"sample": sample, "text": format!("\"{step}{row}{sample}\"\n"), "answer": null, "tokens": [1], "behavior_logprobs": [-0.5],
                           "reference_logprobs": [], "entropy_sum": 0.5, "finish": "stop", "status": "ok",
                           "reward": sample as f64 / 2.0})
                })
                .collect();
            let group = json!({"row": row, "step": step, "prompt": [1], "text": "p", "rollouts": rollouts});
            part.push_str(&format!("{group}\n"));
            for line in serde_json::from_value::<RolloutGroup>(group).unwrap().lines(2 * step + row) {
                set.push_str(&format!("{}\n", serde_json::to_string(&line).unwrap()));
            }
        }
        fs::write(folder.join(format!("{step:06}.jsonl")), part).unwrap();
    }
    fs::write(store.files().job(job).join("set"), set).unwrap();
    let place = store.place().clone();
    let files = place.kept_parts(job).await.unwrap();
    let parts = Source { complete: false, sample: false, files, place: place.clone() };
    let files = vec![(0, Location::job(job).within("set").into())];
    [parts, Source { complete: true, sample: false, files, place }]
}

/// Step, row and sample.
type Numbers = (u64, usize, u32);

fn walk(source: &Source, limit: usize, head: &RolloutFilter) -> Vec<Numbers> {
    let wanted = &Wanted { head: head.clone(), ..Wanted::default() };
    walk_in(Order::Newest, source, limit, wanted)
}

fn walk_in(order: Order, source: &Source, limit: usize, wanted: &Wanted) -> Vec<Numbers> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = order.page(source, &Part { after, limit, light: false }, wanted).unwrap();
        seen.extend(numbers(&page));
        assert!(page.found.len() <= limit);
        if !page.has_more {
            return seen;
        }
        after = page.found.last().map(|(at, _)| *at);
    }
}

/// What is found behind a place; none where the place is refused.
fn order_of(source: &Source, after: Option<Cursor>, wanted: &Wanted) -> Option<Vec<Numbers>> {
    let page = Order::Newest.page(source, &Part { after, ..first_of(9) }, wanted);
    page.ok().map(|page| numbers(&page))
}

fn first_of(limit: usize) -> Part {
    Part { limit, ..Part::default() }
}

fn numbers(page: &Page) -> Vec<Numbers> {
    page.found.iter().map(|(_, Shown { line, .. })| (line.step, line.row, line.sample)).collect()
}

#[tokio::test]
async fn pages_of_any_size_show_everything_once_and_the_newest_step_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected: Vec<Numbers> =
        (0..2).flat_map(|step| (0..2).flat_map(move |row| (0..3).map(move |s| (step, row, s)))).collect();
    expected.reverse();
    for source in sources(folder.path()).await {
        for limit in 1..=13 {
            assert_eq!(walk(&source, limit, &RolloutFilter::default()), expected, "{limit}");
            let filter = RolloutFilter { step: Some(1), min_reward: Some(0.5), ..RolloutFilter::default() };
            assert_eq!(walk(&source, limit, &filter), [(1, 1, 2), (1, 1, 1), (1, 0, 2), (1, 0, 1)], "{limit}");
            let filter = RolloutFilter { row: Some(0), max_reward: Some(0.0), ..RolloutFilter::default() };
            assert_eq!(walk(&source, limit, &filter), [(1, 0, 0), (0, 0, 0)], "{limit}");
        }
    }
}

#[tokio::test]
async fn a_text_is_found_as_it_was_written_also_behind_places_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()).await {
        let with = |text: &str| Wanted { text: Some(text.to_owned()), ..Wanted::default() };
        for limit in 1..=4 {
            let found = |text| walk_in(Order::Newest, &source, limit, &with(text));
            assert_eq!(found("\"101\"\n"), [(1, 0, 1)], "{limit}");
            assert_eq!(found("01"), [(1, 0, 1), (0, 1, 2), (0, 1, 1), (0, 1, 0), (0, 0, 1)], "{limit}");
            assert_eq!(found("p").len(), 12, "prompts have texts, too");
            assert!(found("101\\").is_empty(), "what is only in the file is not found");
            let of_step = Wanted { head: RolloutFilter { step: Some(0), ..RolloutFilter::default() }, ..with("01\"") };
            assert_eq!(walk_in(Order::Newest, &source, limit, &of_step), [(0, 0, 1)], "{limit}");
        }
        let last_of_step = Order::Newest.page(&source, &first_of(6), &Wanted::default()).unwrap().found[5].0;
        let behind =
            Order::Newest.page(&source, &Part { after: Some(last_of_step), ..first_of(6) }, &with("\"00")).unwrap();
        assert_eq!(numbers(&behind), [(0, 0, 2), (0, 0, 1), (0, 0, 0)]);
    }
}

#[tokio::test]
async fn other_orders_show_everything_once_as_well_and_equals_by_age() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()).await {
        for limit in [1, 5, 12] {
            let by_reward = walk_in(Order::HighestReward, &source, limit, &Wanted::default());
            let samples: Vec<u32> = by_reward.iter().map(|(_, _, sample)| *sample).collect();
            assert_eq!(samples, [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]);
            assert_eq!(by_reward[..4], [(1, 1, 2), (1, 0, 2), (0, 1, 2), (0, 0, 2)]);
            let wanted = Wanted { max_step: Some(0), mixed: true, ..Wanted::default() };
            let by_length = walk_in(Order::Longest, &source, limit, &wanted);
            assert_eq!(by_length, walk_in(Order::Newest, &source, limit, &wanted), "all are as long");
            assert_eq!(by_length.len(), 6);
            let page = Order::Newest.page(&source, &first_of(4), &Wanted::default()).unwrap();
            let group = page.found.last().map(|(at, _)| Cursor { item: 0, ..*at });
            let of_group = Wanted { group, ..Wanted::default() };
            assert_eq!(walk_in(Order::Newest, &source, limit, &of_group), [(1, 0, 2), (1, 0, 1), (1, 0, 0)]);
            assert!(by_length.iter().all(|(step, _, _)| *step == 0));
            // Neither a neighbour of the group nor what an older file ends with is given in its place.
            let group = group.unwrap();
            let first = source.files[0].0;
            for nowhere in [
                Wanted { group: Some(Cursor { end: group.end - 1, ..group }), ..Wanted::default() },
                Wanted { group: Some(Cursor { end: 9999, file: first, ..group }), ..Wanted::default() },
                Wanted { group: Some(group), max_step: Some(0), ..Wanted::default() },
            ] {
                let found = order_of(&source, None, &nowhere);
                assert!(found.is_none_or(|found| found.is_empty()), "{nowhere:?}");
            }
            let other = Cursor { end: 1, ..group };
            let of_group = Wanted { group: Some(group), ..Wanted::default() };
            assert!(order_of(&source, Some(other), &of_group).is_none(), "a place in another group");
        }
    }
}

#[tokio::test]
async fn a_sample_is_read_as_far_as_it_is_there_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let [mut source, _] = sources(folder.path()).await;
    let all = walk(&source, 2, &RolloutFilter::default());
    let page = |source: &Source, after, limit| {
        Order::Newest.page(source, &Part { after, ..first_of(limit) }, &Wanted::default())
    };
    let after = page(&source, None, 2).unwrap().found.last().map(|(at, _)| *at);
    let paths: Vec<_> = (0..2)
        .map(|step| {
            folder.path().join("jobs").join(source_job(&source)).join(PARTS_FOLDER).join(format!("{step:06}.jsonl"))
        })
        .collect();
    source.sample = true;
    let first = page(&source, None, 4).unwrap();
    let text = fs::read_to_string(&paths[1]).unwrap();
    fs::write(&paths[1], text.replace("\"row\"", "\"learned\":[null],\"row\"")).unwrap();
    let rest = page(&source, first.found.last().map(|(at, _)| *at), 100).unwrap();
    assert_eq!([numbers(&first), numbers(&rest)].concat(), all, "places last when more is told");
    source.sample = false;
    fs::remove_file(&paths[1]).unwrap();
    let text = fs::read_to_string(&paths[0]).unwrap();
    fs::write(&paths[0], &text[..text.len() - 20]).unwrap();
    assert!(page(&source, after, 100).is_err());
    source.sample = true;
    let rest = numbers(&page(&source, after, 100).unwrap());
    assert_eq!(rest, all[9..], "the last line of the older file is cut off");
}

/// The folder of the job whose parts they are.
fn source_job(source: &Source) -> String {
    let name = source.files[0].1.name().to_string();
    name.split('/').nth(1).unwrap().to_owned()
}

#[test]
fn texts_verdicts_and_ends_are_conditions_too() {
    let line = json!({"group": 0, "sample": 0, "row": 1, "step": 2, "prompt": "3+4=", "prompt_tokens": [1],
                      "completion": "seven", "answer": null, "tokens": [1], "logprobs": [-0.5], "entropy_sum": 0.5,
                      "finish": "stop", "status": "unparsable", "reward": 0.0});
    let shown = Shown { line: serde_json::from_value(line).unwrap(), length: 1, spread: 0.0, sampled: None };
    let holds = |wanted: Wanted| wanted.holds(&shown);
    for text in ["seven", "3+4", ""] {
        assert!(holds(Wanted { text: Some(text.to_owned()), ..Wanted::default() }), "{text}");
    }
    assert!(!holds(Wanted { text: Some(String::from("eight")), ..Wanted::default() }));
    assert!(holds(Wanted { status: Some(ScoreStatus::Unparsable), ..Wanted::default() }));
    assert!(!holds(Wanted { status: Some(ScoreStatus::Ok), ..Wanted::default() }));
    assert!(!holds(Wanted { finish: Some(FinishReason::Length), ..Wanted::default() }));
    assert!(!holds(Wanted { mixed: true, ..Wanted::default() }));
    assert!(!holds(Wanted { max_step: Some(1), ..Wanted::default() }));
    assert!(holds(Wanted { max_step: Some(2), ..Wanted::default() }));
}
