//! What the features pull in, and what they offer.

use std::collections::BTreeSet;
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
    let distinct = BTreeSet::from_iter(crates);
    assert!(distinct.len() <= 20, "{distinct:?}");
}

#[test]
fn by_default_tls_is_rustls_alone_and_with_ring_neither_its_large_library_nor_http2_is_built() {
    let ring = ["--no-default-features", "--features", "rustls-ring"];
    let others = ["openssl", "native-tls", "ring", "schemars", "cookie_store", "async-compression"];
    for (features, present, absent) in [
        (&[][..], &["rustls", "reqwest", "h2"][..], &others[..]),
        (&ring, &["rustls", "ring"], &["aws-lc-rs", "aws-lc-sys", "h2"]),
    ] {
        let crates = tree(features);
        let has = |name: &&&str| crates.iter().any(|found| found == **name);
        assert_eq!(present.iter().find(|name| !has(name)), None, "missing with {features:?}");
        assert_eq!(absent.iter().find(has), None, "there with {features:?}");
    }
}

/// What a client says first by TLS names the protocols that it speaks, in the clear.
#[cfg(any(feature = "rustls", feature = "rustls-ring"))]
#[tokio::test]
async fn the_service_is_offered_http2_with_the_feature_and_only_with_it() {
    use tokio::io::AsyncReadExt;

    let service = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/api/v1", service.local_addr().unwrap());
    let inbox = shared_inbox::Client::builder(url, format!("rk_test_{}", "a1".repeat(24))).build().unwrap();
    let hello = async {
        let (mut line, _) = service.accept().await.unwrap();
        let mut said = vec![0; 4096];
        let read = line.read(&mut said).await.unwrap();
        said.truncate(read);
        said
    };
    let said = tokio::select! {
        said = hello => said,
        answer = inbox.me() => panic!("nobody answered: {answer:?}"),
    };
    let offers = |protocol: &[u8]| said.windows(protocol.len()).any(|some| some == protocol);
    assert!(offers(b"\x08http/1.1"));
    assert_eq!(offers(b"\x02h2"), cfg!(feature = "http2"));
}

/// What the mock turned on would be on in the program under test as well, which would hide what that lacks.
#[test]
fn the_mock_turns_nothing_on_in_the_program_under_test_but_the_client() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "-p",
            "shared-inbox-mock",
            "-e",
            "normal",
            "--prefix",
            "none",
        ])
        .args(["-f", "{p} [{f}]"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("shared-inbox v")).unwrap();
    assert!(line.trim_end_matches(" (*)").ends_with("[client]"), "{line}");
}
