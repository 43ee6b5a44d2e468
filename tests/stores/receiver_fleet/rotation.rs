//! Secrets that are rotated while receivers are killed and started.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU8, Ordering},
};

use shared_inbox_tests::stores;
use shared_inbox_webhooks::Secret;

use super::{
    SHORT_LEASE, effects_in, events, every_second_effect_is_explained, prepare,
    process::Process,
    roles::{Role, SECRET},
    service::{Fleet, Service, three_times_each},
};

/// A file of secrets that is replaced as a whole.
struct SecretFile(PathBuf);

impl SecretFile {
    fn write(&self, secrets: [Secret; 3]) {
        let text = secrets.map(|secret| secret.reveal().to_string()).join("\n");
        let next = self.0.with_extension("next");
        fs::write(&next, text).expect("written");
        fs::rename(next, &self.0).expect("replaced");
    }
}

impl Drop for SecretFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// The secret of a rotation; the first one is that of all tests.
fn secret(number: u8) -> Secret {
    if number == 0 {
        Secret::parse(SECRET).expect("a secret")
    } else {
        Secret::from_bytes(&[number; 32]).expect("a secret")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_genuine_request_is_rejected_while_secrets_are_rotated_and_receivers_are_killed() {
    for (place, store) in [stores::valkey(), stores::postgres()].into_iter().enumerate() {
        let url = prepare(&store).await;
        let path = std::env::temp_dir().join(format!("webhook-fleet-{}-{place}", std::process::id()));
        let file = SecretFile(path.clone());
        file.write([0, 0, 0].map(secret));
        let (service, store) = (Service::new(), url.clone());
        let start = move || Process::start_with(Role::CountsRuns, &store, SHORT_LEASE, Some(&path));
        let fleet = Fleet::of(&start);
        let rotations = AtomicU8::new(0);
        let disturb = {
            let (fleet, service) = (fleet.clone(), service.clone());
            move |number: usize, random: &mut _| match number % 2 {
                0 => fleet.replace_one(random, start()),
                // As with the service: both secrets sign from the rotation on, and the receivers hear of it later.
                _ => {
                    let next = rotations.fetch_add(1, Ordering::SeqCst) + 1;
                    service.sign_with([next, next - 1].map(secret));
                    // One more than sign, for a request that a busy machine has held up.
                    file.write([next, next - 1, next.saturating_sub(2)].map(secret));
                }
            }
        };
        three_times_each(&service, &fleet, events(), disturb).await;
        assert_eq!(service.rejected(), 0);
        // They have all heard of the last rotation: the first secrets are worth nothing.
        service.sign_with([secret(0), secret(1)]);
        assert_eq!(service.send("evt_late", &fleet.first_url()).await, Some(401));
        drop(fleet);
        every_second_effect_is_explained(&url, &effects_in(&url).await, events());
    }
}
