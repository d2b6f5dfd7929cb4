//! The program in a completion: the last block of code, or all of it, with what the row's prompt gives it.

use std::sync::LazyLock;

use regex::Regex;

use super::formats::Task;

/// What a reasoning model writes before its answer ends here.
const THOUGHT: &str = "</think>";

/// The program, or none where there is nothing.
pub fn of(completion: &str, task: &Task) -> Option<String> {
    let answer = completion.rfind(THOUGHT).map_or(completion, |at| &completion[at + THOUGHT.len()..]);
    let code = last_block(answer);
    if code.trim().is_empty() {
        return None;
    }
    let Some((prompt, name)) = &task.continues else { return Some(code.to_owned()) };
    // What comes before the function in the prompt, its imports and the functions that it may call, stays.
    Some(match (definition(code, name), definition(prompt, name)) {
        (Some(_), Some(at)) => format!("{}\n{code}", &prompt[..at]),
        (Some(_), None) => code.to_owned(),
        // A completion that goes on where the prompt ends.
        (None, _) => format!("{prompt}{code}"),
    })
}

/// Where a function, or a class, of this name is defined at the beginning of a line.
fn definition(text: &str, name: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let defines = |at: &usize| {
        let line = text[*at..].strip_prefix("async ").unwrap_or(&text[*at..]);
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "));
        let rest = rest.and_then(|rest| rest.trim_start().strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    starts.into_iter().find(defines)
}

/// The last block between fences that says something, where one that is not closed goes to the end; the whole text where
/// there are no fences.
fn last_block(text: &str) -> &str {
    static FENCE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^[ \t]*```[^\n`]*$").expect("the constant pattern is well-formed"));
    let fences: Vec<_> = FENCE.find_iter(text).collect();
    if fences.is_empty() {
        return text;
    }
    let blocks = fences.chunks(2).rev();
    let mut blocks = blocks.map(|pair| {
        let end = pair.get(1).map_or(text.len(), |close| close.start());
        text.get(pair[0].end() + 1..end).unwrap_or_default()
    });
    blocks.find(|block| !block.trim().is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::formats::Checks;
    use super::*;

    fn task(continues: Option<(&str, &str)>) -> Task {
        let continues = continues.map(|(prompt, name)| (prompt.to_owned(), name.to_owned()));
        Task { checks: Checks::Outputs(Vec::new()), continues }
    }

    #[test]
    fn the_last_block_counts_and_without_one_the_whole_answer() {
        let plain = task(None);
        for (completion, program) in [
            ("First\n```\na\n```\nthen\n```python\nb\n```\nend", "b\n"),
            ("```python\ncut off", "cut off"),
            ("```python\na\n```\n```\n\n```", "a\n"),
            ("<think>```\nno\n```</think>x = 1", "x = 1"),
            ("print(1)", "print(1)"),
        ] {
            assert_eq!(of(completion, &plain).as_deref(), Some(program), "{completion}");
        }
        for empty in ["", " \n", "```python\n```", "<think>print(1)</think>"] {
            assert_eq!(of(empty, &plain), None, "{empty}");
        }
    }

    #[test]
    fn a_body_continues_its_prompt_and_a_whole_function_keeps_what_the_prompt_imports() {
        let prompt = "from typing import List\n\ndef f(x: int) -> int:\n    \"\"\"Doc.\"\"\"\n";
        let continued = task(Some((prompt, "f")));
        assert_eq!(of("    return x\n", &continued).unwrap(), format!("{prompt}    return x\n"));
        let whole = "```python\ndef f(x):\n    return x\n```";
        assert_eq!(of(whole, &continued).unwrap(), "from typing import List\n\n\ndef f(x):\n    return x\n");
        assert!(of("def ff(x):\n    return x", &continued).unwrap().starts_with(prompt));
    }
}
