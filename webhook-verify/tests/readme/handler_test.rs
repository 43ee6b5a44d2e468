use axum::{Router, body::Body};
use shared_inbox_webhooks::event::ClientReplied;
use shared_inbox_webhooks::{Event, EventKind, Secret, testing};
use tower::ServiceExt;

/// Sends what the service would send, to the app itself: no port, no service.
pub async fn reply_gets(app: Router, secret: &Secret) -> Result<u16, Box<dyn std::error::Error>> {
    let reply = ClientReplied::new("cnv_1".parse()?, "msg_1".parse()?, "mbx_1".parse()?);
    let mut event = Event::new("evt_1".parse()?, EventKind::ClientReplied(reply));
    event.livemode = Some(true);
    let request = testing::signed(secret, event).to_http::<Body>("/hook"); // `to_actix` for actix-web
    Ok(app.oneshot(request).await?.status().as_u16())
}
