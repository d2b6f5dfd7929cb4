//! Tells the program which build it is, for `anneal --version`.

use std::process::Command;

fn main() {
    // The log of HEAD changes with every commit and every checkout.
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-env-changed=ANNEAL_COMMIT");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // Sources without their history, as in an image's build, are told what they are.
    let told = Some(variable("ANNEAL_COMMIT")).filter(|commit| !commit.is_empty());
    let commit = told.or_else(head).unwrap_or_else(|| String::from("unknown commit"));
    let kind = if std::env::var_os("CARGO_FEATURE_CUDA").is_some() { "cuda" } else { "cpu" };
    println!(
        "cargo::rustc-env=ANNEAL_BUILD={} ({commit}, {}, {kind}, {})",
        variable("CARGO_PKG_VERSION"),
        variable("TARGET"),
        variable("PROFILE")
    );
}

fn head() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim().to_owned())
}
