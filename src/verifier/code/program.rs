//! The program in a completion: the block of code that defines what is asked for, or all of it, with what the row's prompt
//! gives it.

mod blocks;

use std::sync::LazyLock;

use regex::Regex;

use super::super::excerpt;
use super::super::outside::sandbox::PYTHON;
use super::formats::{Checks, Task};
use blocks::{Block, blocks, quoted_after};

/// What a future statement begins with; it is the first of a program.
const FUTURE: &str = "from __future__ import ";

/// The program, or none where there is nothing.
pub fn of(completion: &str, task: &Task, language: &str) -> Option<String> {
    let code = chosen(excerpt::behind_thought(completion), task, language);
    if code.trim().is_empty() {
        return None;
    }
    let Some((prompt, name)) = &task.continues else { return Some(future_first(&format!("{}{code}", task.before))) };
    let prompt = code_of(prompt, name);
    // What comes before the function in the prompt, its imports and the functions that it may call, stays.
    Some(match (definition(&code, name), definition(&prompt, name)) {
        (Some(_), Some(at)) => future_first(&format!("{}\n{code}", &prompt[..at])),
        // A prompt that begins with imports is code, and what programs are written with.
        (Some(_), None) if imports_first(&prompt) => future_first(&format!("{prompt}\n{code}")),
        (Some(_), None) => code,
        // A completion that goes on where the prompt ends.
        (None, _) => future_first(&format!("{prompt}{code}")),
    })
}

/// Of the blocks of an answer the last one that defines what is asked for, else the last of the language, and of those that
/// tests call rather one that defines something; else the last. All of the answer where it has no blocks.
fn chosen(answer: &str, task: &Task, language: &str) -> String {
    let blocks = blocks(answer);
    if blocks.is_empty() {
        return answer.to_owned();
    }
    let names = asked(task);
    let defines = |block: &&Block| names.iter().any(|name| definition(&block.text, name).is_some());
    let is_tagged = |block: &&Block| is_of(block, language);
    let last = || blocks.iter().rev().filter(|block| !block.text.trim().is_empty());
    let is_called = matches!(task.checks, Checks::Tests(_));
    let found = last()
        .find(defines)
        .or_else(|| last().find(|block| is_called && is_tagged(block) && DEFINES.is_match(&block.text)))
        .or_else(|| last().find(is_tagged))
        .or_else(|| last().next());
    found.map(|block| block.text.clone()).unwrap_or_default()
}

fn is_of(block: &Block, language: &str) -> bool {
    let tag = block.tag.as_str();
    tag == language || (language == PYTHON && matches!(tag, "py" | "python3" | "py3"))
}

/// The names that a program is asked to define.
fn asked(task: &Task) -> Vec<&str> {
    if let Some((_, name)) = &task.continues {
        return vec![name];
    }
    match &task.checks {
        Checks::Outputs(_) => Vec::new(),
        Checks::Tests(tests) => match &tests.entry_point {
            Some(entry) => entry.split('.').collect(),
            None => tests.names.iter().map(String::as_str).collect(),
        },
    }
}

static DEFINES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:async )?(?:def|class) ").expect("the constant pattern is well-formed"));

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

/// The Python in a prompt: the block that defines the function, or the lines that are statements rather than prose.
fn code_of(prompt: &str, name: &str) -> String {
    static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = concat!(
            r"^(?:import [\w.]+(?: as \w+)?(?:\s*,.*)?\s*(?:#.*)?$|from [\w.]+ import \S|(?:async )?def \w+\s*\(",
            r"|class \w+\s*[(:]|@\w|#|[A-Za-z_]\w*\s*=[^=]|[rR]?(?:\x22{3}|'{3})|try:|except\b.*:|else:|finally:|[)\]}])"
        );
        Regex::new(pattern).expect("the constant pattern is well-formed")
    });
    if let Some(block) = blocks(prompt).into_iter().rev().find(|block| definition(&block.text, name).is_some()) {
        return block.text;
    }
    let (mut code, mut quoted, mut is_kept) = (String::new(), None, true);
    for line in prompt.split_inclusive('\n') {
        if quoted.is_none() && !line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            is_kept = STATEMENT.is_match(line.trim_end());
        }
        if is_kept {
            quoted = quoted_after(line, quoted);
            code.push_str(line);
        }
    }
    code
}

fn imports_first(prompt: &str) -> bool {
    let mut lines = prompt.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| line.starts_with("import ") || line.starts_with("from "))
}

/// A program whose future statements come first, as they have to.
fn future_first(program: &str) -> String {
    if !program.contains(FUTURE) {
        return program.to_owned();
    }
    let (first, rest): (Vec<&str>, Vec<&str>) =
        program.split_inclusive('\n').partition(|line| line.starts_with(FUTURE));
    let first: String = first.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    first + &rest.concat()
}

#[cfg(test)]
mod tests {
    use super::super::super::outside::sandbox::Tests;
    use super::*;

    fn task(continues: Option<(&str, &str)>) -> Task {
        let continues = continues.map(|(prompt, name)| (prompt.to_owned(), name.to_owned()));
        Task { checks: Checks::Outputs(Vec::new()), continues, before: "" }
    }

    fn called(entry_point: Option<&str>, names: &[&str]) -> Task {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let entry_point = entry_point.map(str::to_owned);
        let (classes, functions) = (Vec::new(), Vec::new());
        let tests = Tests { setup: String::new(), tests: Err(Vec::new()), entry_point, names, classes, functions };
        Task { checks: Checks::Tests(tests), continues: None, before: "" }
    }

    fn python(completion: &str, task: &Task) -> Option<String> {
        of(completion, task, PYTHON)
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
            assert_eq!(python(completion, &plain).as_deref(), Some(program), "{completion}");
        }
        for empty in ["", " \n", "```python\n```", "<think>print(1)</think>"] {
            assert_eq!(python(empty, &plain), None, "{empty}");
        }
    }

    #[test]
    fn the_block_that_defines_what_is_asked_for_comes_before_the_last() {
        let program = "def f(x):\n    return x\n";
        let (named, listed, any) = (called(Some("f"), &[]), called(None, &["f"]), called(None, &[]));
        for after in
            ["```\n42\n```", "```bash\npython main.py\n```", "```python\nprint(f(1))\n```", "```text\ndef g(x)\n```"]
        {
            let completion = format!("So:\n```python\n{program}```\nwhich gives\n{after}\n");
            for task in [&named, &listed, &any] {
                assert_eq!(python(&completion, task).unwrap(), program, "{after}");
            }
        }
        let method = "class Solution:\n    def f(self, x): return x\n";
        let completion = format!("```python\n{method}```\n```python\nSolution().f(1)\n```");
        assert_eq!(python(&completion, &called(Some("Solution.f"), &[])).unwrap(), method);
        for after in ["```\n42\n```", "```bash\npython main.py\n```"] {
            let completion = format!("```python\nprint(42)\n```\n{after}");
            assert_eq!(python(&completion, &task(None)).unwrap(), "print(42)\n");
        }
        assert_eq!(of("```c\nint x;\n```\n```\n7\n```", &task(None), "c").unwrap(), "int x;\n");
    }

    #[test]
    fn a_body_continues_its_prompt_and_a_whole_function_keeps_what_the_prompt_imports() {
        let prompt = "from typing import List\n\ndef f(x: int) -> int:\n    \"\"\"Doc.\"\"\"\n";
        let continued = task(Some((prompt, "f")));
        assert_eq!(python("    return x\n", &continued).unwrap(), format!("{prompt}    return x\n"));
        let whole = "```python\ndef f(x):\n    return x\n```";
        assert_eq!(python(whole, &continued).unwrap(), "from typing import List\n\n\ndef f(x):\n    return x\n");
        assert!(python("def ff(x):\n    return x", &continued).unwrap().starts_with(prompt));
    }

    #[test]
    fn of_a_prompt_only_the_code_is_put_before_a_program() {
        let whole = "```python\nfrom __future__ import annotations\ndef f(x): return g(x)\n```";
        let code = "import math\n\ndef g(x):\n    \"\"\"It\nis.\"\"\"\n    return x\n\n";
        let head = "def f(x):\n    \"\"\"Doc.\"\"\"\n";
        for prompt in [
            format!("Complete this function:\n{code}{head}"),
            format!("Write it for me.\n```python\n{code}{head}```\nThanks!"),
            format!("{code}{head}"),
        ] {
            let continued = task(Some((&prompt, "f")));
            let program = python(whole, &continued).unwrap();
            assert_eq!(program, format!("from __future__ import annotations\n{code}\ndef f(x): return g(x)\n"));
            assert_eq!(python("    return x\n", &continued).unwrap(), format!("{code}{head}    return x\n"));
        }
        let prose = task(Some(("Write a function f that doubles.", "f")));
        assert_eq!(python("def f(x): return 2 * x", &prose).unwrap(), "def f(x): return 2 * x");
    }
}
