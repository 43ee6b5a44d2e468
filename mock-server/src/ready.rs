//! The ready document with addresses and keys.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::world::ReadyKeys;

/// The prefix of every path of the REST API.
pub(crate) const REST_PREFIX: &str = "/api/v1";
/// The prefix of every path of the control API.
pub(crate) const CONTROL_PREFIX: &str = "/_mock";

/// Returns the id of a world beside the main one.
pub(crate) fn world_id(number: u64) -> String {
    format!("wld_{number}")
}

/// Where a world can be reached, and its two keys, which hold all scopes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mock = shared_inbox_mock::MockServer::start().await;
/// let ready = mock.ready();
/// assert!(ready.mcp_url.ends_with("/mcp") && ready.keys.test.starts_with("rk_test_"));
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ready {
    /// The id of a world beside the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The prefix of the REST API.
    pub base_url: String,
    /// The MCP endpoint.
    pub mcp_url: String,
    /// The prefix of the control API.
    pub control_url: String,
    /// The page for people.
    pub console_url: String,
    /// A live and a test key.
    pub keys: ReadyKeys,
}

redacted_debug!(Ready { base_url, control_url });

/// The addresses of a server.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Without a path.
    root: String,
}

impl Addresses {
    pub(crate) fn new(address: SocketAddr) -> Self {
        // The unspecified address cannot be connected to everywhere.
        let mut reachable = address;
        if address.ip().is_unspecified() {
            reachable.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        Self { root: format!("http://{reachable}") }
    }

    /// Returns the ready document of a world; 0 is the main one.
    pub(crate) fn ready(&self, world: u64, keys: &ReadyKeys) -> Ready {
        let root = &self.root;
        let id = (world != 0).then(|| world_id(world));
        Ready {
            base_url: format!("{root}{REST_PREFIX}"),
            mcp_url: format!("{root}/mcp"),
            control_url: id.as_ref().map_or(format!("{root}{CONTROL_PREFIX}"), |id| {
                format!("{root}{CONTROL_PREFIX}/worlds/{id}")
            }),
            console_url: id.as_ref().map_or(format!("{root}/"), |id| format!("{root}/?world={id}")),
            keys: keys.clone(),
            id,
        }
    }
}
