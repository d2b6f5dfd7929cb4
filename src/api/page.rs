//! The web page: the files of `ui/dist`, which are part of the program, at `/`. Each of its views has an address, at which
//! the same document is served; the rest happens in the browser.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{Embed, EmbeddedFile};

use super::App;
use super::error::Problem;
use crate::job::digest::hex;

/// Built from `ui/` by `scripts/ui.sh`. A debug build reads them from the disk.
#[derive(Embed)]
#[folder = "ui/dist"]
struct Files;

/// The first parts of the addresses of its views, as `ui/src/lib/router.ts` knows them.
const VIEWS: [&str; 12] = [
    "jobs",
    "new",
    "compare",
    "frontier",
    "verifiers",
    "data",
    "models",
    "playground",
    "evaluations",
    "sweeps",
    "operate",
    "help",
];

/// The page and what it brings along.
pub fn pages() -> Router<App> {
    let mut router = Router::new().route("/", get(document)).route("/assets/{name}", get(asset));
    for view in VIEWS {
        router = router.route(&format!("/{view}"), get(document)).route(&format!("/{view}/{{*rest}}"), get(document));
    }
    router
}

/// The document, which a browser asks for again each time: it names the files of the version that serves it.
async fn document(headers: HeaderMap) -> Response {
    let Some(file) = Files::get("index.html") else { return missing().into_response() };
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let known = known.flat_map(|tags| tags.split(',')).any(|known| known.trim().trim_start_matches("W/") == tag);
    let caching = [(header::ETAG, tag), (header::CACHE_CONTROL, String::from("no-cache"))];
    if known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, answer("index.html", file)).into_response()
}

/// A file whose name changes with what is in it.
async fn asset(Path(name): Path<String>) -> Response {
    let file = if name.contains('/') { None } else { Files::get(&format!("assets/{name}")) };
    let Some(file) = file else { return missing().into_response() };
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    ([(header::CACHE_CONTROL, kept)], answer(&name, file)).into_response()
}

fn answer(name: &str, file: EmbeddedFile) -> ([(HeaderName, &'static str); 1], Vec<u8>) {
    let kind = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, kind)], file.data.into_owned())
}

fn missing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_such_route", "this version of the page has no such file; load it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_the_addresses_at_which_it_is_served() {
        let router = include_str!("../../ui/src/lib/router.ts");
        for view in VIEWS {
            assert!(router.contains(&format!("'/{view}")), "{view}");
        }
        let index = Files::get("index.html").expect("the page is built");
        let index = String::from_utf8(index.data.into_owned()).unwrap();
        for name in Files::iter().filter(|name| name.starts_with("assets/index")) {
            assert!(index.contains(&*name), "{name}");
        }
    }
}
