//! The public API of each library, a line an item, so that a change of it shows in review.
//!
//!     UPDATE_API=1 cargo test --manifest-path tests/api/Cargo.toml        # writes the files anew
//!
//! rustdoc's JSON has a version, and `public-api` reads one: that of Rust 1.95, which CI is pinned to. With another toolchain
//! there is nothing to compare, and a line says so; with `CI` set that is a failure, because there the pin was moved alone.

use std::{env, fs, path::Path, process::Command};

const CRATES: [&str; 4] = ["shared-inbox", "shared-inbox-webhooks", "shared-inbox-mock", "shared-inbox-mcp"];
/// What this version of `public-api` reads.
const FORMAT: &str = "57";

#[test]
fn the_public_api_of_each_crate_is_the_one_in_its_file() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace");
    let target = root.join("target");
    let documented = Command::new("cargo")
        .args(["doc", "--workspace", "--all-features", "--no-deps", "--locked", "--quiet", "--target-dir"])
        .arg(&target)
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

    let mut differ = Vec::new();
    for name in CRATES {
        let json = target.join("doc").join(name.replace('-', "_")).with_extension("json");
        let text = fs::read_to_string(&json).expect("rustdoc wrote it");
        let format = text.rsplit("\"format_version\":").next().unwrap_or_default();
        let format = format.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        if format != FORMAT {
            let reason = format!("this toolchain's rustdoc writes format {format}, and {FORMAT} is read");
            assert!(
                env::var_os("CI").is_none_or(|it| it.is_empty()),
                "{reason}: move `public-api` and the pin together"
            );
            println!("SKIPPED: the public API is not compared: {reason}");
            return;
        }
        let api = public_api::Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .expect("the JSON is rustdoc's");
        let (now, file) = (api.to_string(), here.join(name).with_extension("txt"));
        if env::var_os("UPDATE_API").is_some() {
            fs::write(&file, &now).expect("the file can be written");
        }
        let before = fs::read_to_string(&file).unwrap_or_default();
        let only = |sign: char, one: &str, other: &str| -> Vec<String> {
            let there: std::collections::HashSet<_> = other.lines().collect();
            one.lines().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}")).collect()
        };
        differ.extend(only('-', &before, &now));
        differ.extend(only('+', &now, &before));
    }
    assert!(
        differ.is_empty(),
        "the public API has changed:\n{}\n\nIf that is meant: UPDATE_API=1 cargo test --manifest-path tests/api/Cargo.toml",
        differ.join("\n")
    );
}
