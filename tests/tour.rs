//! `docs/API.md` is true: every command in it runs, in its order, and every route of the API is in it. So do the commands
//! of the job in `README.md`.

mod common;
#[path = "common/pages.rs"]
mod pages;

use std::process::Command;

use common::{Server, data_dir};
use pages::blocks;
use regex::Regex;
use serde_json::Value;

const FEWEST_COMMANDS: usize = 30;
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Routes that the tour leaves out: they send something to another machine, or need that it was sent.
const NOT_IN_THE_TOUR: [(&str, &str); 5] = [
    ("GET", "/v1/launches/{id}"),
    ("POST", "/v1/exports/{id}/push"),
    ("POST", "/v1/webhook_endpoints/{id}/test"),
    ("GET", "/v1/webhook_deliveries/{id}"),
    ("POST", "/v1/webhook_deliveries/{id}/redeliver"),
];
/// Requests of the tour that are no route of the document.
const NOT_IN_THE_DOCUMENT: [(&str, &str); 1] = [("GET", "/openapi.json")];

fn tour() -> Vec<String> {
    blocks("docs/API.md")
}

#[test]
fn every_command_of_the_tour_works() {
    let commands: usize = tour().iter().map(|block| requests(block).len()).sum();
    assert!(commands >= FEWEST_COMMANDS, "{commands} commands");
    all_work(&tour());
}

#[test]
fn the_job_by_curl_of_the_readme_works() {
    let mut blocks = blocks("README.md");
    blocks.retain(|block| block.contains("curl "));
    assert_eq!(blocks.len(), 1, "the README has one job by curl");
    all_work(&blocks);
}

fn all_work(blocks: &[String]) {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    pages::all_work(blocks, &server.base, folder.path());
}

#[test]
fn the_commands_of_experiments_work() {
    all_work(&blocks("docs/EXPERIMENTS.md"));
}

#[test]
fn every_route_is_in_the_tour() {
    let used: Vec<(String, String)> = tour().iter().flat_map(|block| requests(block)).collect();
    let routes = routes();
    let is_used = |route: &(String, String)| used.iter().any(|request| fits(request, route));
    let listed =
        |list: &[(&str, &str)], (method, path): &(String, String)| list.contains(&(method.as_str(), path.as_str()));
    for route in &routes {
        let excepted = listed(&NOT_IN_THE_TOUR, route);
        assert!(is_used(route) || excepted, "{route:?} is not in docs/API.md");
        assert!(!(is_used(route) && excepted), "{route:?} is in docs/API.md and need not be excepted");
    }
    for (method, path) in NOT_IN_THE_TOUR {
        assert!(routes.contains(&(method.to_owned(), path.to_owned())), "there is no {method} {path}");
    }
    for request in &used {
        let known = routes.iter().any(|route| fits(request, route)) || listed(&NOT_IN_THE_DOCUMENT, request);
        assert!(known, "{request:?} is no route");
    }
}

/// Method and path of every route of the document.
fn routes() -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_anneal")).arg("openapi").output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS.iter().filter(|method| !item[**method].is_null()) {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    routes
}

/// Method and path of every call of curl in a script; what the shell puts into a path is `X`.
fn requests(script: &str) -> Vec<(String, String)> {
    let put_in = Regex::new(r"\$\([^)]*\)|\$\d").unwrap();
    let path = Regex::new(r#"\$ANNEAL(/[^"?\s]*)"#).unwrap();
    let method = Regex::new(r"\s-X (\w+)").unwrap();
    let body = Regex::new(r"\s(-d|--data-binary|-F)\s").unwrap();
    let request = |call: &str| {
        let call = put_in.replace_all(call, "X");
        let default = if body.is_match(&call) { "POST" } else { "GET" };
        let method = method.captures(&call).map_or(default.to_owned(), |found| found[1].to_owned());
        path.captures(&call).map(|found| (method, found[1].to_owned()))
    };
    script.match_indices("curl ").filter_map(|(begin, _)| request(call(&script[begin..]))).collect()
}

/// The begin of a script up to the end of its first command.
fn call(script: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (index, c) in script.char_indices() {
        match (quote, c) {
            _ if before == '\\' && quote != Some('\'') => {}
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '|' | ';' | ')' | '\n') => return &script[..index],
            _ => {}
        }
        before = c;
    }
    script
}

/// Whether a request goes to a route.
fn fits((method, path): &(String, String), (expected, template): &(String, String)) -> bool {
    let segments = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (path, template) = (segments(path), segments(template));
    let fits = |(part, expected): (&String, &String)| expected.starts_with('{') || part == expected;
    method == expected && path.len() == template.len() && path.iter().zip(&template).all(fits)
}

#[test]
fn calls_are_read_out_of_scripts() {
    let script = "A=$(curl \"$ANNEAL/v1/jobs?x=1\" -d '{\"a;b\": \"'\"$B\"'\"}' | cut -d' ' -f1)\n\
                  curl -X PUT \"$ANNEAL/v1/p/$(jq -r .id a)/q\" \\\n  -H 'A: b'\ncurl \"$ANNEAL/healthz\"";
    let expected = [("POST", "/v1/jobs"), ("PUT", "/v1/p/X/q"), ("GET", "/healthz")];
    let found = requests(script);
    assert!(found.iter().map(|(method, path)| (method.as_str(), path.as_str())).eq(expected), "{found:?}");
    let route = |method: &str, path: &str| (method.to_owned(), path.to_owned());
    assert!(fits(&found[1], &route("PUT", "/v1/p/{id}/q")) && !fits(&found[1], &route("PUT", "/v1/p/{id}")));
}
