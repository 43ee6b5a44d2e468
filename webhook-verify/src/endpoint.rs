//! Types for apps with several endpoints, so that one cannot be taken for another.

/// A marker for one of an app's endpoints.
///
/// Each endpoint of the service has a secret of its own, and each gets a
/// [receiver](crate::ReceiverBuilder::endpoint) of its own type here: with one receiver for all secrets, an
/// event of the sandbox would be accepted on the route for live events. The compiler finds the receiver that
/// a route needs, and a function that takes a `Verified<Event, Live>` cannot be called with anything else.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, extract::FromRef, routing::post};
/// use shared_inbox_webhooks::{Endpoint, Event, Receiver, Secret, Verified, Webhook};
///
/// struct Live;
/// struct Sandbox;
/// impl Endpoint for Live {}
/// impl Endpoint for Sandbox {}
///
/// #[derive(Clone, FromRef)]
/// struct App {
///     live: Receiver<Live>,
///     sandbox: Receiver<Sandbox>,
/// }
///
/// async fn live(Webhook(event): Webhook<Event, Live>) {
///     let event: Verified<Event, Live> = event; // never an event of the sandbox
///     println!("{} at {}", event.kind.event_type(), event.endpoint_id());
/// }
///
/// async fn sandbox(Webhook(event): Webhook<Event, Sandbox>) {
///     println!("a test: {}", event.summary);
/// }
///
/// fn router(live_secret: Secret, test_secret: Secret) -> Router {
///     let app = App {
///         live: Receiver::builder().secrets([live_secret]).endpoint("whk_live").require_live().build(),
///         sandbox: Receiver::builder().secrets([test_secret]).endpoint("whk_test").require_test().build(),
///     };
///     Router::new().route("/live", post(live)).route("/sandbox", post(sandbox)).with_state(app)
/// }
/// ```
pub trait Endpoint: 'static {}

/// The endpoint of an app that has one, which needs no type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoleEndpoint {}
