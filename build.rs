//! Tells the program which build it is, for `anneal --version`.

use std::process::Command;

fn main() {
    // The log of HEAD changes with every commit and every checkout.
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    println!("cargo::rerun-if-changed=migrations");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| String::from("unknown commit"), |text| text.trim().to_owned());
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let kind = if std::env::var_os("CARGO_FEATURE_CUDA").is_some() { "cuda" } else { "cpu" };
    println!(
        "cargo::rustc-env=ANNEAL_BUILD={} ({commit}, {}, {kind}, {})",
        variable("CARGO_PKG_VERSION"),
        variable("TARGET"),
        variable("PROFILE")
    );
}
