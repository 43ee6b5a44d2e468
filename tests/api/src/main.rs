//! Writes the public API of the libraries that other people's code compiles, with all features, a line an
//! item, so that a change of it shows in review.
//!
//! `scripts/regenerate` runs it. It reads the JSON of rustdoc in the one format that `public-api` knows,
//! which is that of the toolchain in `rust-toolchain.toml`: move both together.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder and the name of each library.
const LIBRARIES: [(&str, &str); 3] = [
    ("sdk", "shared-inbox"),
    ("webhook-verify", "shared-inbox-webhooks"),
    ("mock-server", "shared-inbox-mock"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("this package lies two folders below the root");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    for (folder, name) in LIBRARIES {
        document(
            root,
            &target,
            name,
            &public_features(&fs::read_to_string(root.join(folder).join("Cargo.toml"))?),
        )?;
        let json = target.join("doc").join(name.replace('-', "_")).with_extension("json");
        let api = public_api::Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        fs::write(here.join(name).with_extension("txt"), api.to_string())?;
    }
    Ok(())
}

/// The features of a manifest, without the internal ones, whose names begin with `__`.
fn public_features(manifest: &str) -> String {
    let features =
        manifest.split("[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let names = features.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    names.filter(|name| !name.starts_with(['#', '_'])).collect::<Vec<_>>().join(",")
}

/// Has rustdoc write its JSON.
fn document(root: &Path, target: &Path, name: &str, features: &str) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "doc",
        "--no-deps",
        "--locked",
        "--quiet",
        "--lib",
        "--package",
        name,
        "--features",
        features,
        "--target-dir",
    ]);
    cargo.arg(target).current_dir(root);
    cargo
        .env("RUSTDOC", root.join("scripts/rustdoc"))
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format json");
    // With what cargo told this program of its package, the build script of `ring` would run again, and all
    // behind it.
    for (variable, _) in env::vars_os() {
        if variable
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            cargo.env_remove(variable);
        }
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(format!("cargo doc of {name}: {status}").into());
    }
    Ok(())
}
