//! The commands that the documentation shows for the `math` verifier.

mod common;
#[path = "common/pages.rs"]
mod pages;

use common::{Server, data_dir};

#[test]
fn the_commands_of_the_page_work() {
    let folder = data_dir();
    let server = Server::start_with(&folder.path().join("data"), &[]);
    let page = pages::section("docs/VERIFIERS.md", "## math");
    pages::all_work(&pages::blocks_of(&page, "sh"), &server.base, folder.path());
}
