//! The commands that the documentation shows for verifiers that need nothing beyond this program.

mod common;
#[path = "common/pages.rs"]
mod pages;

use common::{Server, data_dir};

#[test]
fn the_commands_of_every_verifier_work() {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    let own = |heading: &&str| !["code", "Services, programs and judges"].contains(heading);
    let headings = pages::headings("docs/VERIFIERS.md");
    let sections = headings.iter().map(String::as_str).filter(own);
    let blocks: Vec<String> = sections
        .flat_map(|heading| pages::blocks_of(&pages::section("docs/VERIFIERS.md", &format!("## {heading}")), "sh"))
        .collect();
    assert!(blocks.len() >= 10, "{headings:?}");
    pages::all_work(&blocks, &server.base, folder.path());
}
