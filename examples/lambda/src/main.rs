//! A webhook receiver as a function on AWS Lambda, behind an HTTP API.
//!
//!     cargo lambda build --release --manifest-path examples/lambda/Cargo.toml
//!
//! `SHARED_INBOX_WEBHOOK_SECRET` is the secret from the webhook's page, from the function's environment or a
//! secret store.
//!
//! Nothing outlives a request here: the platform freezes the function as soon as it has answered. So the
//! handler runs inside the request. The guard in memory sees the events of one instance only; where a repeat
//! must not be handled twice across instances, use a store that they share (the traits `ReplayGuard` and
//! `TransactionalInbox`).
#![forbid(unsafe_code)]

use lambda_http::{Body, Error, Request, Response, run, service_fn};
use shared_inbox_webhooks::replay::{MemoryGuard, once};
use shared_inbox_webhooks::{Event, EventKind, Receiver, Verified};

async fn answer(receiver: &Receiver, guard: &MemoryGuard, request: Request) -> Result<Response<Body>, Error> {
    let status = match receiver.receive(request).await {
        Err(rejection) => {
            eprintln!("rejected: {}", rejection.code()); // for the log alone
            rejection.status()
        }
        Ok(event) => {
            let event: Verified<Event> = event;
            match once(guard, &event.delivery("inbox"), |_| handle(&event)).await {
                Ok(outcome) => outcome.status(),
                Err(error) => {
                    eprintln!("{}: {error}", event.id);
                    error.status()
                }
            }
        }
    };
    Ok(Response::builder().status(status).body(Body::Empty)?)
}

/// When it fails, the event comes again.
async fn handle(event: &Event) -> Result<(), Error> {
    match &event.kind {
        EventKind::ClientReplied(reply) => println!("{}: reply in {}", event.id, reply.conversation_id),
        other => println!("{}: nothing to do for {}", event.id, other.event_type()),
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let (receiver, guard) = (Receiver::from_env()?, MemoryGuard::new());
    run(service_fn(|request| answer(&receiver, &guard, request))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_inbox_webhooks::{Secret, Signer, Verifier};

    #[tokio::test]
    async fn an_event_is_handled_once_and_a_forgery_is_refused() {
        let secret = Secret::from_bytes(&[7; 32]).unwrap();
        let (receiver, guard) = (Receiver::new(Verifier::new([secret.clone()])), MemoryGuard::new());
        let body = r#"{"id": "evt_1", "type": "moon.rose"}"#;
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let request = |body: &str| {
            let headers = Signer::new([secret.clone()]).sign("evt_1", now, br#"{"id": "evt_1", "type": "moon.rose"}"#);
            let mut request = Request::new(Body::from(body));
            for (name, value) in headers.pairs() {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
            request
        };
        for (body, status) in [(body, 200), (body, 200), ("{}", 401)] {
            assert_eq!(answer(&receiver, &guard, request(body)).await.unwrap().status(), status);
        }
    }
}
