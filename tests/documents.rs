//! The documents are true where a machine can tell: the map of files is what their heads say, the index of decisions is
//! what their titles say, what the architecture names is in the sources, and a link leads somewhere.
//!
//! What is generated is written anew with `UPDATE_DOCUMENTS=1 cargo test --test documents`; both pages may be merged
//! anyhow and are then written anew.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// What a source file may end with, and what the lines of its head begin with.
const SOURCES: &[(&str, &str)] = &[("rs", "//!"), ("cu", "//"), ("cuh", "//"), ("cpp", "//"), ("h", "//")];

/// Folders that hold no documents of ours.
const NOT_OURS: &[&str] = &["target", "node_modules", "src", "shared", "anneal-data"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder, in the order of their paths.
fn files_below(folder: &Path, enter: &dyn Fn(&str) -> bool) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !path.is_dir() {
            files.insert(path);
        } else if enter(name) {
            files.append(&mut files_below(&path, enter));
        }
    }
    files
}

/// Whether pages are to be written and not to be compared.
fn updates() -> bool {
    std::env::var_os("UPDATE_DOCUMENTS").is_some()
}

/// Compares a page with what it should be, or writes it.
fn expect(page: &str, expected: &str) {
    let path = root().join(page);
    if updates() {
        fs::write(&path, expected).unwrap();
    }
    let hint = "run: UPDATE_DOCUMENTS=1 cargo test --test documents";
    let text = fs::read_to_string(&path).unwrap_or_default();
    let (shown, wanted): (BTreeSet<&str>, BTreeSet<&str>) = (text.lines().collect(), expected.lines().collect());
    let stale: Vec<_> = shown.difference(&wanted).collect();
    let missing: Vec<_> = wanted.difference(&shown).collect();
    assert!(text == expected, "{page} is not what the sources say; stale {stale:#?}, missing {missing:#?}; {hint}");
}

/// The first sentence of a text's head: of the comment that it begins with, up to its first empty line.
fn first_sentence(text: &str, comment: &str) -> Option<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix(comment)).map(str::trim);
    let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let link = Regex::new(r"\[(`[^`]+`)\](\([^)]*\))?").unwrap();
    let head = link.replace_all(&head, "$1");
    let end = Regex::new(r"\.( [^a-z]|$)").unwrap().find(&head).map_or(head.len(), |found| found.start() + 1);
    let sentence = head[..end].trim_end_matches(':').replace('|', r"\|");
    (!sentence.is_empty()).then_some(sentence)
}

/// The first sentence of a source file's head.
fn said_of(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    let (_, comment) = SOURCES.iter().find(|(ending, _)| *ending == extension)?;
    let sentence = first_sentence(&read(path), comment);
    Some(sentence.unwrap_or_else(|| panic!("{} does not say what it is in its first line", path.display())))
}

fn map() -> String {
    let mut page = "# Map of the sources\n\n\
        Every file of `src/` with the first sentence of its head, as `tests/documents.rs` finds it. After a change:\n\
        `UPDATE_DOCUMENTS=1 cargo test --test documents`.\n"
        .to_owned();
    let files = files_below(&root().join("src"), &|_| true);
    let is_root = |file: &Path| ["mod", "lib", "main"].contains(&file.file_stem().unwrap().to_str().unwrap());
    for folder in files.iter().map(|file| file.parent().unwrap()).collect::<BTreeSet<_>>() {
        let shown = folder.strip_prefix(root()).unwrap().display();
        write!(page, "\n## {shown}\n\n| file | what it is |\n|---|---|\n").unwrap();
        let mut inside: Vec<_> = files.iter().filter(|file| file.parent() == Some(folder)).collect();
        inside.sort_by_key(|file| (!is_root(file), *file));
        for file in inside {
            let Some(sentence) = said_of(file) else { continue };
            writeln!(page, "| `{}` | {sentence} |", file.file_name().unwrap().to_str().unwrap()).unwrap();
        }
    }
    page
}

/// The modules in the order in which `src/lib.rs` lists them, with their first sentences.
fn modules() -> String {
    let source = root().join("src");
    let lib = read(&source.join("lib.rs"));
    let head: String = lib.lines().filter(|line| line.starts_with("//! *")).collect();
    let listed = Regex::new(r"\[`(\w+)`\]").unwrap();
    let mut names: Vec<&str> = Vec::new();
    for name in listed.captures_iter(&head).map(|found| found.get(1).unwrap().as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for module in lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
        assert!(names.contains(&module), "the list of modules at the head of src/lib.rs lacks {module}");
    }
    let mut table = "| in `src/` | what it is |\n|---|---|\n".to_owned();
    for name in names {
        let folder = source.join(name).join("mod.rs");
        let (shown, file) =
            if folder.exists() { (format!("{name}/"), folder) } else { (name.to_owned(), source.join(name)) };
        let sentence = said_of(&file.with_extension("rs")).unwrap();
        writeln!(table, "| `{shown}` | {sentence} |").unwrap();
    }
    table
}

struct Decision {
    date: String,
    file: String,
    title: String,
}

/// Every decision, the newest first.
fn decisions() -> Vec<Decision> {
    let name = Regex::new(r"^(\d{4}-\d{2}-\d{2})-[a-z0-9-]+\.md$").unwrap();
    let mut decisions = Vec::new();
    for path in files_below(&root().join("docs/decisions"), &|_| true) {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if file == "README.md" {
            continue;
        }
        let date =
            name.captures(&file).unwrap_or_else(|| panic!("{file} is not named YYYY-MM-DD-what.md"))[1].to_owned();
        let text = read(&path);
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# "));
        let title = title.unwrap_or_else(|| panic!("{file} does not begin with its title")).to_owned();
        assert_eq!(lines.nth(1), Some(date.as_str()), "the third line of {file} is the date in its name");
        assert!(text.contains("\n## Rejected"), "{file} does not say what was rejected");
        decisions.push(Decision { date, file, title });
    }
    decisions.sort_by(|a, b| (Reverse(&a.date), &a.file).cmp(&(Reverse(&b.date), &b.file)));
    decisions
}

#[test]
fn the_map_of_files_is_what_their_heads_say() {
    expect("docs/map.md", &map());
}

#[test]
fn the_architecture_lists_every_module_with_what_it_says_of_itself() {
    const BEGIN: &str = "<!-- modules: written and compared by tests/documents.rs -->\n";
    const END: &str = "<!-- end of modules -->\n";
    let text = read(&root().join("ARCHITECTURE.md"));
    let (before, rest) = text.split_once(BEGIN).expect("ARCHITECTURE.md has the place of the modules");
    let (_, after) = rest.split_once(END).expect("ARCHITECTURE.md has the end of the modules");
    expect("ARCHITECTURE.md", &format!("{before}{BEGIN}\n{}\n{END}{after}", modules()));
}

#[test]
fn the_index_of_decisions_has_each_with_its_date_and_title() {
    let mut page = "# Decisions\n\n\
        What was decided, why, and what was rejected for it: a file each, the newest first. A decision that is taken\n\
        back keeps its file, which then begins with what replaced it. `CONTRIBUTING.md` says how to add one.\n\n"
        .to_owned();
    for Decision { date, file, title } in decisions() {
        writeln!(page, "- {date} [{title}]({file})").unwrap();
    }
    expect("docs/decisions/README.md", &page);
}

/// The anchors of a document: its headings as GitHub names them, and those that it names itself.
fn anchors(text: &str) -> BTreeSet<String> {
    let named = Regex::new(r#"<a id="([^"]+)">"#).unwrap();
    let mut anchors: BTreeSet<String> = named.captures_iter(text).map(|found| found[1].to_owned()).collect();
    for line in prose(text).lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

/// A document without its blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fence && !inside {
            kept += line;
            kept.push('\n');
        }
        inside ^= fence;
    }
    kept
}

/// What is wrong with the links of a document: files that are not there, and headings that the others lack.
fn broken_links(path: &Path, text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut broken = Vec::new();
    for target in link.captures_iter(&prose(text)).map(|found| found[1].to_owned()) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let leads = if file.is_empty() {
            anchors(text).contains(anchor)
        } else {
            let to = path.parent().unwrap().join(file);
            to.exists() && (anchor.is_empty() || anchors(&read(&to)).contains(anchor))
        };
        if !leads {
            broken.push(target);
        }
    }
    broken
}

#[test]
fn links_between_documents_lead_somewhere() {
    if updates() {
        return;
    }
    let enter = |name: &str| !name.starts_with('.') && !NOT_OURS.contains(&name);
    let mut broken = Vec::new();
    for path in files_below(&root(), &enter).iter().filter(|path| path.extension().is_some_and(|ending| ending == "md"))
    {
        for target in broken_links(path, &read(path)) {
            broken.push(format!("{}: {target}", path.strip_prefix(root()).unwrap().display()));
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

/// What a page names of the sources, in backquotes: paths of modules, functions and types, and files.
fn named(text: &str) -> BTreeSet<String> {
    let code = Regex::new(r"`(\w+(?:::\w+)*|[\w/]+\.rs)`").unwrap();
    let is_ours = |name: &&str| name.contains([':', '_', '.']) || name.starts_with(char::is_uppercase);
    let prose = prose(text);
    code.captures_iter(&prose).map(|found| found.get(1).unwrap().as_str()).filter(is_ours).map(str::to_owned).collect()
}

#[test]
fn what_the_architecture_names_is_in_the_sources() {
    let word = Regex::new(r"\w+").unwrap();
    let (mut words, mut paths): (BTreeSet<String>, String) = (BTreeSet::new(), String::new());
    for folder in ["src", "tests", "migrations"] {
        for path in files_below(&root().join(folder), &|name| name != "data") {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            words.extend(word.find_iter(&text).map(|found| found.as_str().to_owned()));
            writeln!(paths, "{}", path.display()).unwrap();
        }
    }
    let is_known = |name: &str| match name.ends_with(".rs") {
        true => paths.contains(&format!("/{name}\n")),
        false => name.split("::").all(|part| words.contains(part)),
    };
    for page in ["ARCHITECTURE.md", "docs/ways.md"] {
        let mut unknown = named(&read(&root().join(page)));
        unknown.retain(|name| !is_known(name));
        assert!(unknown.is_empty(), "{page} names what is not in the sources: {unknown:?}");
    }
}

#[test]
fn what_the_program_brings_along_is_there_when_its_image_is_built() {
    let included = Regex::new(r#"include_str!\("[./]*/(docs|ui)/[^"]+"\)|#\[folder = "([a-z/]+)"\]"#).unwrap();
    let context = read(&root().join(".dockerignore"));
    let mut found = 0;
    for file in files_below(&root().join("src"), &|_| true)
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
    {
        let text = read(file);
        // What only tests read is not built into the image.
        let production = text.split("#[cfg(test)]").next().unwrap_or_default();
        for folder in included.captures_iter(production).filter_map(|found| found.get(1).or(found.get(2))) {
            let folder = folder.as_str();
            assert!(context.lines().any(|line| line == format!("!{folder}")), ".dockerignore leaves {folder} out");
            found += 1;
        }
    }
    assert!(found > 1, "no file includes a folder any more, and this test can go");
}

#[test]
fn a_broken_link_is_found() {
    let page = root().join("docs/x.md");
    let text = "# One *thing*\n[a](#one-thing) [b](#two) [c](absent.md) [d](../README.md) [e](https://example.org/x)\n\
                ```\n[f](absent.md)\n```\n";
    assert_eq!(broken_links(&page, text), ["#two", "absent.md"]);
    assert_eq!(anchors(text), BTreeSet::from(["one-thing".to_owned()]));
}

#[test]
fn the_first_sentence_ends_where_the_next_begins() {
    for (text, expected) in [
        ("//! One. Two.\n", "One."),
        ("//! After\n//! arXiv 1910.07467, one. `two` follows.\n//!\n//! Three.\n", "After arXiv 1910.07467, one."),
        ("//! `GET /v1/jobs`\n\nuse x;\n", "`GET /v1/jobs`"),
        ("//! The loop:\n//!\n", "The loop"),
        ("//! Of [`a`] and [`b`](c::d). Two.\n", "Of `a` and `b`."),
    ] {
        assert_eq!(first_sentence(text, "//!").as_deref(), Some(expected));
    }
    assert_eq!(first_sentence("use x;\n", "//!"), None);
}
