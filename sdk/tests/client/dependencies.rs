//! What the features pull in.

use std::process::Command;

/// The names of the crates that a build with these features needs.
fn tree(features: &[&str]) -> Vec<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--offline", "--locked", "-p", "shared-inbox", "-e", "normal", "--prefix", "none"])
        .args(features)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn without_default_features_there_is_no_http_stack() {
    let crates = tree(&["--no-default-features"]);
    for absent in ["reqwest", "hyper", "tokio", "http", "rustls", "tracing", "schemars", "backon"] {
        assert!(!crates.iter().any(|name| name == absent), "{absent} is there");
    }
    let mut distinct = crates;
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() <= 20, "{distinct:?}");
}

#[test]
fn by_default_tls_is_rustls_and_nothing_else() {
    let crates = tree(&[]);
    let has = |name: &str| crates.iter().any(|found| found == name);
    assert!(has("rustls") && has("reqwest") && has("h2"));
    for absent in ["openssl", "native-tls", "ring", "schemars", "cookie_store", "async-compression"] {
        assert!(!has(absent), "{absent} is there");
    }
}

#[test]
fn with_ring_neither_the_large_library_of_the_default_nor_http2_is_built() {
    let crates = tree(&["--no-default-features", "--features", "rustls-ring"]);
    let has = |name: &str| crates.iter().any(|found| found == name);
    assert!(has("rustls") && has("ring"));
    assert!(!has("aws-lc-rs") && !has("aws-lc-sys") && !has("h2"));
}
