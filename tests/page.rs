//! The web page and the documentation as a browser is sent them, and sessions of browsers.

mod common;

use common::{Answer, Server, data_dir};
use serde_json::{Value, json};

const OURS: (&str, &str) = ("sec-fetch-site", "same-origin");

fn text(answer: Answer) -> String {
    String::from_utf8(answer.bytes).unwrap()
}

#[test]
fn every_view_has_an_address_and_its_files_are_kept_for_good() {
    let data = data_dir();
    let server = Server::start(data.path());
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), "no-cache");
    let policy = page.header("content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), value);
    }
    let tag = page.header("etag").to_owned();
    assert_eq!(server.get_with("/jobs", &[("if-none-match", &tag)]).status, 304);
    let html = text(page);
    for view in ["/jobs", "/jobs/job_1/completions", "/new", "/compare", "/operate"] {
        assert_eq!(text(server.get(view)), html, "{view}");
    }
    assert!(!html.contains("http://") && !html.contains("https://") && html.contains("<noscript>"));
    let script = html.split('"').find(|part| part.starts_with("/assets/") && part.ends_with(".js")).unwrap();
    let script = server.get(script);
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
    for path in ["/assets/absent.js", "/assets/..%2findex.html", "/nothing"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_documentation_is_where_the_errors_point() {
    let data = data_dir();
    let server = Server::start(data.path());
    let refused = server.get("/v1/jobs?statuss=failed").json();
    let (page, code) = refused["type"].as_str().unwrap().split_once('#').unwrap();
    let errors = text(server.get(page));
    assert!(errors.contains(&format!("id=\"{code}\"")), "{page}#{code}");
    let index = text(server.get("/docs/"));
    for link in index.split('"').filter(|part| part.starts_with("/docs/") && !part.contains('#')) {
        assert_eq!(server.get(link).status, 200, "{link}");
    }
    let reference = text(server.get("/docs/api"));
    assert!(reference.contains("id=\"create_job\"") && !reference.contains("<script"));
    assert_eq!(server.get("/docs/quickstart.svg").header("content-type"), "image/svg+xml");
    assert_eq!(server.get("/docs/absent").status, 404);
}

#[test]
fn a_browser_signs_in_and_never_holds_the_key() {
    let data = data_dir();
    let server = Server::start(data.path());
    let open = server.get("/v1/sessions/current").json();
    assert!(open["key"].is_null() && open["scopes"].as_array().unwrap().len() == 6, "{open}");
    let new = json!({"name": "admin", "scopes": ["read", "write", "admin"]});
    let admin = format!("Bearer {}", server.post("/v1/api-keys", &new).json()["key"].as_str().unwrap());
    let post = |key: &str, path: &str, body: &Value| {
        server.post_bytes(path, body.to_string().as_bytes(), &[("authorization", key)])
    };
    let made = post(&admin, "/v1/api-keys", &json!({"name": "reader", "scopes": ["read"]})).json();
    let (reader_id, reader) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());

    assert_eq!(server.get("/").status, 200, "the page is for everybody");
    assert_eq!(server.get("/v1/sessions/current").status, 401);
    for wrong in [json!({"key": "ak_wrong"}), json!({"link": "as_wrong"})] {
        assert_eq!(server.post("/v1/sessions", &wrong).status, 401, "{wrong}");
    }
    assert_eq!(server.post("/v1/sessions", &json!({"key": "a", "link": "b"})).status, 422);

    let signed_in = server.post("/v1/sessions", &json!({"key": reader}));
    assert_eq!(signed_in.status, 200);
    let cookie = signed_in.header("set-cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(reader), "{cookie}");
    assert!(!cookie.contains("Secure"), "this connection is not encrypted");
    let cookie = cookie.split(';').next().unwrap();
    let session = [("cookie", cookie), OURS];
    let who = server.get_with("/v1/sessions/current", &session).json();
    assert_eq!((&who["name"], &who["scopes"]), (&json!("reader"), &json!(["read"])), "{who}");
    assert!(who["expires_at"].as_i64().is_some());
    assert_eq!(server.get_with("/v1/jobs", &session).status, 200);

    // What the key may not, its session may not; and other pages may nothing.
    let spec = common::small_spec().to_string();
    let refused = server.post_bytes("/v1/jobs", spec.as_bytes(), &session);
    assert_eq!((refused.status, refused.problem().as_str()), (403, "insufficient_scope"));
    for site in ["cross-site", "same-site"] {
        let refused = server.get_with("/v1/jobs", &[("cookie", cookie), ("sec-fetch-site", site)]);
        assert_eq!((refused.status, refused.problem().as_str()), (403, "origin_not_allowed"), "{site}");
    }
    let refused = server.post_bytes("/v1/verifiers/test", b"{}", &[("cookie", cookie)]);
    assert_eq!(refused.status, 403, "nobody's page sent it");

    // Nor does a session make others that would outlive it.
    let refused = server.post_bytes("/v1/sessions/links", b"{}", &session);
    assert_eq!((refused.status, refused.problem().as_str()), (403, "insufficient_scope"));

    // A link signs in once.
    let link = post(&format!("Bearer {reader}"), "/v1/sessions/links", &json!({})).json();
    let code = link["path"].as_str().unwrap().strip_prefix("/#link=").unwrap();
    assert_eq!(server.post("/v1/sessions", &json!({"link": code})).status, 200);
    assert_eq!(server.post("/v1/sessions", &json!({"link": code})).status, 401);

    // Who signed in stands in the audit log, and who was not let in.
    let noted = |status: u16, key: bool| {
        let began = std::time::Instant::now();
        loop {
            let log = server.get_with("/v1/audit-log?limit=100", &[("authorization", &admin)]).json();
            let found = log["data"].as_array().unwrap().iter().any(|entry| {
                entry["path"] == "/v1/sessions" && entry["status"] == status && entry["key"].is_string() == key
            });
            if found || began.elapsed() > common::PATIENCE {
                return found;
            }
        }
    };
    assert!(noted(200, true) && noted(401, false));

    // A session ends with its key.
    assert_eq!(post(&admin, &format!("/v1/api-keys/{reader_id}/revoke"), &json!({})).status, 200);
    let refused = server.get_with("/v1/jobs", &session);
    assert_eq!((refused.status, refused.problem().as_str()), (401, "api_key_revoked"));
}
