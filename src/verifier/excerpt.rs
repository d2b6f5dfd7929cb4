//! Parts of texts: what stands in tags, boxes and code fences, beginnings short enough for messages, and names fit for metrics.

/// The beginning of a message that may hold a whole completion.
pub fn shortened(message: &str) -> String {
    const SHOWN: usize = 300;
    let mut shown: String = message.chars().take(SHOWN).collect();
    if shown.len() < message.len() {
        shown.push('…');
    }
    shown
}

/// A completion without what a reasoning model thinks before it answers.
pub fn behind_thought(completion: &str) -> &str {
    const THOUGHT: &str = "</think>";
    completion.rfind(THOUGHT).map_or(completion, |at| &completion[at + THOUGHT.len()..])
}

/// What stands inside each closed code fence.
pub fn fenced(text: &str) -> Vec<&str> {
    const FENCE: &str = "```";
    let fences: Vec<usize> = text.match_indices(FENCE).map(|(at, _)| at).collect();
    let inside = |pair: &[usize]| {
        let inside = &text[pair[0] + FENCE.len()..pair[1]];
        // The first line names the language.
        inside.split_once('\n').map_or(inside, |(_, rest)| rest)
    };
    fences.chunks_exact(2).map(inside).collect()
}

/// What stands inside a code fence that is the whole text.
pub fn fenced_alone(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    (!inside.contains("```")).then(|| inside.split_once('\n').map_or(inside, |(_, rest)| rest))
}

/// An answer in a box, as [`last_boxed`] finds it.
pub fn boxed(answer: &str) -> String {
    format!("\\boxed{{{}}}", answer.trim())
}

/// The text inside the last complete pair of tags.
pub fn last_tagged<'t>(text: &'t str, open_tag: &str, close_tag: &str) -> Option<&'t str> {
    let last_close = text.rfind(close_tag)?;
    let start = text[..last_close].rfind(open_tag)? + open_tag.len();
    let end = start + text[start..].find(close_tag)?;
    Some(&text[start..end])
}

/// What stands in the last `\boxed{...}` whose brace is closed; one pass, so that open braces cost no more.
pub fn last_boxed(text: &str) -> Option<&str> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' if !escaped => open.push((at + 1, text[..at].trim_end_matches(' ').ends_with("\\boxed"))),
            b'}' if !escaped => {
                if let Some((start, true)) = open.pop()
                    && last.is_none_or(|(previous, _)| previous < start)
                {
                    last = Some((start, at));
                }
            }
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    last.map(|(start, end)| &text[start..end])
}

/// The names of parts of a verdict, fit for metrics and columns: letters, digits and underscores, and a number behind a name
/// that was there before.
pub fn part_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const LONGEST: usize = 64;
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().take(LONGEST).map(fit).collect();
        let mut numbered = name.clone();
        for number in 2..=found.len() + 1 {
            if !found.contains(&numbered) {
                break;
            }
            numbered = format!("{name}_{number}");
        }
        found.push(numbered);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_fences_are_read_without_their_language() {
        assert_eq!(fenced("```sql\na\n``` and ```\nb\n``` and ```c"), ["a\n", "b\n"]);
        assert_eq!(fenced("`a` ```b```"), ["b"]);
        assert!(fenced("```sql\na").is_empty());
        assert_eq!(fenced_alone(" ```json\n1\n```\n"), Some("1\n"));
        for more in ["a ```1```", "```1``` ```2```", "1", "```"] {
            assert_eq!(fenced_alone(more), None, "{more}");
        }
    }

    #[test]
    fn an_answer_stands_behind_the_last_thought() {
        assert_eq!(behind_thought("<think>a</think>b</think>\nc"), "\nc");
        assert_eq!(behind_thought("<think>a"), "<think>a");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(shortened("é").as_str(), "é");
        assert_eq!(shortened(&"é".repeat(1000)).chars().count(), 301);
    }

    #[test]
    fn names_of_parts_are_different_and_fit_for_metrics() {
        let names = part_names(["a:b", "a b", "a_b_2", "größe", "a:b"].into_iter());
        assert_eq!(names, ["a_b", "a_b_2", "a_b_2_2", "gr__e", "a_b_3"]);
    }
}
