//! The public API of the libraries that other people's code compiles, with all features, a line an item, so that a change of it shows
//! in review. What breaks users is found by `cargo semver-checks` in CI.
//!
//!     UPDATE_API=1 cargo test --manifest-path tests/api/Cargo.toml        # writes the files anew
//!
//! rustdoc's JSON has a version, and `public-api` reads one: that of Rust 1.95, which CI is pinned to. With another toolchain
//! there is nothing to compare, and a line says so; with `CI` set that is a failure, because there the pin was moved alone.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs, process::Command};

const CRATES: [&str; 3] = ["shared-inbox", "shared-inbox-webhooks", "shared-inbox-mock"];
/// What this version of `public-api` reads.
const FORMAT: &str = "57";

#[test]
fn the_public_api_of_each_crate_is_the_one_in_its_files() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);

    let mut differ = Vec::new();
    // Each alone: the mock turns on what is internal in the others, which are documented without it.
    for (name, folder) in CRATES.into_iter().zip(["sdk", "webhook-verify", "mock-server"]) {
        let features = promised_features(&root.join(folder).join("Cargo.toml"));
        document(root, &target, &["--package", name, "--features", &features]);
    }
    for name in CRATES {
        let Some(api) = public_api(&target, name) else { return };
        differ.extend(compare(&api, &here.join(name).with_extension("txt")));
    }
    assert!(
        differ.is_empty(),
        "the public API has changed:\n{}\n\nIf that is meant: UPDATE_API=1 cargo test --manifest-path tests/api/Cargo.toml",
        differ.join("\n")
    );
}

/// The features of a crate, without the internal ones, whose names begin with `__`.
fn promised_features(manifest: &Path) -> String {
    let manifest = fs::read_to_string(manifest).expect("a manifest");
    let features =
        manifest.split("[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let names = features.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    names.filter(|name| !name.starts_with(['#', '_'])).collect::<Vec<_>>().join(",")
}

/// Has rustdoc write its JSON.
fn document(root: &Path, target: &Path, what: &[&str]) {
    let documented = Command::new("cargo")
        .args(["doc", "--no-deps", "--locked", "--quiet", "--target-dir"])
        .arg(target)
        .args(what)
        .env("RUSTDOC", root.join(".ci/rustdoc"))
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format json")
        // With what cargo told this test of its package, the build script of `ring` would run again, and all behind it.
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_LINKS")
        .env_remove("CARGO_PKG_NAME")
        .env_remove("CARGO_PKG_VERSION_MAJOR")
        .env_remove("CARGO_PKG_VERSION_MINOR")
        .env_remove("CARGO_PKG_VERSION_PATCH")
        .env_remove("CARGO_PKG_VERSION_PRE")
        .current_dir(root)
        .status();
    assert!(documented.expect("cargo runs").success());
}

/// The public API of a crate, or `None` if this toolchain's rustdoc writes another format.
fn public_api(target: &Path, name: &str) -> Option<String> {
    let json = target.join("doc").join(name.replace('-', "_")).with_extension("json");
    let text = fs::read_to_string(&json).expect("rustdoc wrote it");
    let format = text.rsplit("\"format_version\":").next().unwrap_or_default();
    let format = format.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    if format != FORMAT {
        let reason = format!("this toolchain's rustdoc writes format {format}, and {FORMAT} is read");
        let ci = env::var_os("CI").is_some_and(|it| !it.is_empty());
        assert!(!ci, "{reason}: move `public-api` and the pin together");
        println!("SKIPPED: the public API is not compared: {reason}");
        return None;
    }
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .expect("the JSON is rustdoc's");
    Some(api.to_string())
}

/// The lines in which the API and its file differ.
fn compare(now: &str, file: &Path) -> Vec<String> {
    if env::var_os("UPDATE_API").is_some() {
        fs::write(file, now).expect("the file can be written");
    }
    let before = fs::read_to_string(file).unwrap_or_default();
    let only = |sign: char, one: &str, other: &str| -> Vec<String> {
        let there: HashSet<_> = other.lines().collect();
        one.lines().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only('-', &before, now), only('+', now, &before)].concat()
}
