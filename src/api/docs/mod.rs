//! The documentation as the server shows it: the Markdown of `docs/` and the reference of the API from its document. The
//! pages are text with one style sheet; they run nothing and ask no other server.

mod reference;

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use minijinja::{Environment, context};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use rust_embed::Embed;

use super::App;
use super::error::Problem;

#[derive(Embed)]
#[folder = "docs"]
#[include = "*.md"]
#[include = "*.svg"]
#[exclude = "decisions/*"]
struct Files;

/// The pages in the order of their list, by their files; `map` is for whoever works on the sources.
const PAGES: [(&str, &str); 26] = [
    ("quickstart", "First steps"),
    ("page", "The web page"),
    ("jobs", "Jobs"),
    ("objectives", "Objectives"),
    ("EXPERIMENTS", "Experiments"),
    ("environments", "Several turns and tools"),
    ("data", "Data sets"),
    ("DATASETS", "Data sets by example"),
    ("VERIFIERS", "Verifiers"),
    ("math_disagreements", "Mathematics beside math-verify"),
    ("MODELS", "Models"),
    ("metrics", "Metrics"),
    ("diagnoses", "Diagnoses"),
    ("command-line", "Command line"),
    ("API", "The API by example"),
    ("errors", "Errors"),
    ("devices", "Devices"),
    ("operation", "Operation"),
    ("agents", "Agents"),
    ("schedulers", "Slurm and Kubernetes"),
    ("cluster", "Several machines"),
    ("security", "Security"),
    ("ways", "How it works"),
    ("RESULTS", "Results"),
    ("PERFORMANCE", "Performance"),
    ("map", "Map of the sources"),
];

const STYLE: &str = include_str!("style.css");

/// What all pages have around their text.
static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    for (name, text) in [("page.html", include_str!("page.html")), ("reference.html", include_str!("reference.html"))] {
        templates.add_template(name, text).expect("a template of the program can be read");
    }
    templates
});

/// The pages and what they bring along.
pub fn pages() -> Router<App> {
    Router::new()
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", get(|| async { Html(INDEX.as_str()) }))
        .route("/docs/api", get(|| async { Html(API.as_str()) }))
        .route("/docs/style.css", get(|| async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }))
        .route("/docs/{*page}", get(page))
}

static INDEX: LazyLock<String> = LazyLock::new(|| {
    let items = PAGES.iter().map(|(name, title)| format!("- [{title}]({name}.md)\n"));
    let text = format!("# Documentation\n\n- [API reference](api)\n{}", items.collect::<String>());
    shell("Documentation", "", &from_markdown(&text))
});

static API: LazyLock<String> = LazyLock::new(|| {
    let body = reference::render(&super::openapi::document(), &TEMPLATES);
    shell("API reference", "api", &body)
});

async fn page(Path(name): Path<String>) -> Response {
    if name.ends_with(".svg") {
        let Some(file) = Files::get(&name) else { return missing().into_response() };
        let kind: [(HeaderName, &str); 1] = [(header::CONTENT_TYPE, "image/svg+xml")];
        return (kind, file.data.into_owned()).into_response();
    }
    let known = PAGES.iter().find(|(page, _)| *page == name);
    let file = known.and_then(|_| Files::get(&format!("{name}.md")));
    let Some((file, (_, title))) = file.zip(known) else { return missing().into_response() };
    let text = String::from_utf8_lossy(&file.data);
    Html(shell(title, &name, &from_markdown(&text))).into_response()
}

fn missing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_such_route", "there is no such page; see /docs/")
}

/// A page with its frame; `current` is the name by which the list of pages knows it.
fn shell(title: &str, current: &str, body: &str) -> String {
    let page = TEMPLATES.get_template("page.html").and_then(|page| {
        page.render(context! { title, current, pages => PAGES.map(|(name, title)| [name, title]), body })
    });
    page.unwrap_or_else(|error| {
        tracing::error!(%error, "a page of the documentation cannot be written");
        String::new()
    })
}

/// Markdown of this program as HTML; headings can be linked to, and links to other pages lead to them.
fn from_markdown(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let mut heading: Option<usize> = None;
    for i in 0..events.len() {
        match &events[i] {
            Event::Start(Tag::Heading { .. }) => heading = Some(i),
            Event::End(TagEnd::Heading(_)) => {
                let Some(start) = heading.take() else { continue };
                let slug = slug(&events[start + 1..i]);
                if let Event::Start(Tag::Heading { id, level, .. }) = &mut events[start]
                    && *level != HeadingLevel::H1
                {
                    *id = Some(CowStr::from(slug));
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let leads = destination(dest_url);
                if let Event::Start(Tag::Link { dest_url, .. }) = &mut events[i] {
                    *dest_url = CowStr::from(leads);
                }
            }
            _ => {}
        }
    }
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    // What scrolls can be reached by keyboard.
    html.replace("<pre>", "<pre tabindex=\"0\">")
}

/// The name of a heading as links know it: its words in small letters, joined by hyphens.
fn slug(heading: &[Event<'_>]) -> String {
    let text = heading.iter().filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_lowercase()),
        _ => None,
    });
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    text.collect::<String>().chars().filter(|c| kept(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where a link of a page leads on the server: other pages have no ending, and files of the sources are not served.
fn destination(link: &str) -> String {
    let (path, fragment) = link.split_once('#').map_or((link, ""), |(path, fragment)| (path, fragment));
    let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
    match path.strip_suffix(".md") {
        Some(page) if PAGES.iter().any(|(name, _)| *name == page) => format!("/docs/{page}{fragment}"),
        _ if path.starts_with("../") || path.ends_with(".md") => String::from("/docs/"),
        _ => link.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_list_is_there_and_every_file_is_in_the_list() {
        let named: Vec<String> = PAGES.iter().map(|(name, _)| format!("{name}.md")).collect();
        let files: Vec<String> =
            Files::iter().map(|name| name.into_owned()).filter(|name| name.ends_with(".md")).collect();
        for name in &named {
            assert!(files.contains(name), "{name}");
        }
        for name in &files {
            assert!(named.contains(name), "{name} is missing in PAGES");
        }
    }

    #[test]
    fn headings_and_codes_can_be_linked_to_and_pages_lead_to_each_other() {
        let html = from_markdown("## Two `words`, here\n\n[a](jobs.md#x) [b](../README.md) <a id=\"c\"></a>");
        assert!(html.contains("<h2 id=\"two-words-here\">"), "{html}");
        assert!(html.contains("href=\"/docs/jobs#x\"") && html.contains("href=\"/docs/\""), "{html}");
        assert!(html.contains("<a id=\"c\"></a>"), "{html}");
        let errors = Files::get("errors.md").unwrap();
        let html = from_markdown(&String::from_utf8_lossy(&errors.data));
        assert!(html.contains("id=\"invalid_spec\""), "where every problem's `type` points");
    }

    #[test]
    fn the_pages_run_nothing() {
        for page in [INDEX.as_str(), API.as_str()] {
            assert!(page.contains("<main") && !page.contains("<script") && !page.contains(" style="));
        }
        assert!(API.contains("id=\"create_job\"") && API.contains("id=\"schema-JobSpec\""));
    }
}
