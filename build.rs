//! Tells the program which build it is, for `anneal --version`, and compiles the CUDA kernels where they are wanted.

use std::path::{Path, PathBuf};
use std::process::Command;

const KERNELS: &str = "src/engine/cuda/kernels";

/// The processors that the kernels are compiled for: Ampere and Hopper, and what the driver can compile for later ones.
#[cfg(feature = "cuda")]
const TARGETS: [&str; 3] =
    ["arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_80,code=compute_80"];

fn main() {
    // The log of HEAD changes with every commit and every checkout.
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-env-changed=ANNEAL_COMMIT");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // Sources without their history, as in an image's build, are told what they are.
    let told = Some(variable("ANNEAL_COMMIT")).filter(|commit| !commit.is_empty());
    let commit = told.or_else(head).unwrap_or_else(|| String::from("unknown commit"));
    let kind = if cfg!(feature = "cuda") { "cuda" } else { "cpu" };
    println!(
        "cargo::rustc-env=ANNEAL_BUILD={} ({commit}, {}, {kind}, {})",
        variable("CARGO_PKG_VERSION"),
        variable("TARGET"),
        variable("PROFILE")
    );
    println!("cargo::rerun-if-changed={KERNELS}");
    let out = PathBuf::from(variable("OUT_DIR"));
    compile_kernels(&out);
    compile_emulator(&out);
}

/// The kernels as machine code, in one file that becomes part of the program.
#[cfg(feature = "cuda")]
fn compile_kernels(out: &Path) {
    for name in ["NVCC", "CUDA_HOME", "CUDA_PATH", "NVCC_APPEND_FLAGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let named = std::env::var_os("NVCC").map(PathBuf::from);
    let below = |name| std::env::var_os(name).map(|home| Path::new(&home).join("bin/nvcc"));
    let nvcc = named.or_else(|| below("CUDA_HOME")).or_else(|| below("CUDA_PATH")).unwrap_or_else(|| "nvcc".into());
    let mut command = Command::new(&nvcc);
    command.args(["-std=c++17", "-O3", "-fatbin", "--compress-mode=size"]);
    for target in TARGETS {
        command.args(["-gencode", target]);
    }
    command.arg(format!("{KERNELS}/kernels.cu")).arg("-o").arg(out.join("kernels.fatbin"));
    let fix = "the feature `cuda` needs nvcc 13.0; scripts/cuda_build.sh installs it and builds";
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} ended with {status}; {fix}", nvcc.display()),
        Err(error) => panic!("{} cannot be started ({error}); {fix}", nvcc.display()),
    }
}

#[cfg(not(feature = "cuda"))]
fn compile_kernels(_out: &Path) {}

/// The same sources as a library for the CPU.
#[cfg(feature = "cuda-emulated")]
fn compile_emulator(_out: &Path) {
    const EMULATOR: &str = "src/engine/cuda/emulator";
    println!("cargo::rerun-if-changed={EMULATOR}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // Kernels have parameters that only some of their forms read.
        .flag("-Wno-unused-parameter")
        .opt_level(2)
        .file(format!("{EMULATOR}/emulator.cpp"))
        .flag("-pthread")
        .compile("anneal_emulator");
}

#[cfg(not(feature = "cuda-emulated"))]
fn compile_emulator(_out: &Path) {}

/// The commit that is checked out.
fn head() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim().to_owned())
}
