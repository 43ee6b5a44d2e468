//! What client and receivers read from the environment.

use std::process::Command;

use shared_inbox_webhooks::Secret;

/// What a process says whose environment has these variables.
fn said(variables: &[(&str, &str)]) -> String {
    let mut program = Command::new(shared_inbox_tests::example("from_env"));
    for name in ["SHARED_INBOX_BASE_URL", "SHARED_INBOX_API_KEY", "SHARED_INBOX_WEBHOOK_SECRET"] {
        program.env_remove(name);
    }
    let output = program.envs(variables.iter().copied()).output().expect("it runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_environment_names_the_service_and_the_key() {
    let url = ("SHARED_INBOX_BASE_URL", "https://inbox.example/api/v1");
    let key = format!("rk_test_{}", "a1".repeat(24));
    let right = said(&[url, ("SHARED_INBOX_API_KEY", &key)]);
    assert!(right.contains("client for https://inbox.example/api/v1"), "{right}");
    assert!(said(&[]).contains("no client: SHARED_INBOX_BASE_URL: is not set"));
    assert!(said(&[url]).contains("no client: SHARED_INBOX_API_KEY: is not set"));
    let wrong = said(&[url, ("SHARED_INBOX_API_KEY", "rk_live_hunter2")]);
    assert!(
        wrong.contains("no client: SHARED_INBOX_API_KEY: 48 letters") && !wrong.contains("hunter2"),
        "{wrong}"
    );
}

#[test]
fn the_secrets_come_from_the_environment() {
    let [one, two] = [1, 2].map(|n| Secret::from_bytes(&[n; 32]).expect("a secret").reveal());
    let receiver = |value: &str| said(&[("SHARED_INBOX_WEBHOOK_SECRET", value)]);
    for (value, secrets) in [
        (format!("{}\n", *one), 1),
        (format!("{},{}", *one, *two), 2),
        (format!(" {}, {} ", *one, *two), 2),
        (format!("{} {}", *one, *two), 2),
    ] {
        let said = receiver(&value);
        assert_eq!(said.matches("Key").count(), secrets, "{said}");
    }
    for said in [said(&[]), receiver(""), receiver(" , ")] {
        assert!(said.contains("no receiver: `SHARED_INBOX_WEBHOOK_SECRET` is not set"), "{said}");
    }
    let said = receiver(&format!("{},{}", *one, &two[..20]));
    assert!(
        said.contains("no receiver: `SHARED_INBOX_WEBHOOK_SECRET`: what follows")
            && !said.contains(&two[6..20]),
        "{said}"
    );
}
