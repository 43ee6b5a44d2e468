//! Where webhooks may be sent: public `https` addresses, and in `loopback` mode receivers on this machine
//! too.
//!
//! A name is resolved when a webhook is added and again for every send, and only addresses that passed the
//! check are connected to: otherwise a name could change between check and connection.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::world::{Refusal, Result};

/// How long resolving a name may take when a webhook is added; after that the name counts as not found.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// Which receivers are accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Loopback,
    Public,
}

type Lookup = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

/// Where webhooks may be sent.
///
/// ```
/// use shared_inbox_mock::webhooks::WebhookTargets;
/// let rule: WebhookTargets = "public".parse()?;
/// assert_eq!(rule, WebhookTargets::public());
/// assert_eq!(WebhookTargets::default(), WebhookTargets::loopback());
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Default)]
pub struct WebhookTargets {
    mode: Mode,
    /// Replaces the machine's resolver.
    lookup: Option<Arc<Lookup>>,
}

redacted_debug!(WebhookTargets { mode });

/// Whether they accept the same; how names are looked up does not count.
impl PartialEq for WebhookTargets {
    fn eq(&self, other: &Self) -> bool {
        self.mode == other.mode
    }
}

impl Eq for WebhookTargets {}

impl FromStr for WebhookTargets {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "loopback" => Ok(Self::loopback()),
            "public" => Ok(Self::public()),
            _ => Err("must be `loopback` or `public`"),
        }
    }
}

/// Why nothing is sent to an address. It does not reveal what a name resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Forbidden {
    #[error("is not an address of the form https://host/path")]
    Malformed,
    #[error("must not hold a user name or password")]
    Credentials,
    #[error("must be https")]
    NotHttps,
    #[error("must be public; this is {0}")]
    Address(&'static str),
    #[error("the name cannot be found")]
    NotFound,
}

/// How a permitted address is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// On this machine.
    Local,
    /// Over the network.
    Public,
}

impl Route {
    fn check_address(self, ip: IpAddr) -> Result<(), Forbidden> {
        match (self, reserved(ip)) {
            (Route::Local, Some(LOOPBACK)) | (Route::Public, None) => Ok(()),
            (Route::Local, None) => Err(Forbidden::NotHttps),
            (_, Some(kind)) => Err(Forbidden::Address(kind)),
        }
    }

    /// Checks that all of a name's addresses are permitted.
    fn check_addresses(self, ips: &[IpAddr]) -> Result<(), Forbidden> {
        if ips.is_empty() {
            return Err(Forbidden::NotFound);
        }
        ips.iter().try_for_each(|ip| self.check_address(*ip))
    }
}

impl WebhookTargets {
    /// Public `https` addresses, and `http` and `https` receivers on this machine.
    pub fn loopback() -> Self {
        Self::default()
    }

    /// Returns the service's own rule: public `https` addresses and nothing else.
    pub fn public() -> Self {
        Self { mode: Mode::Public, lookup: None }
    }

    /// Looks names up by this function instead of asking the machine: for tests of what a name may point to.
    #[must_use]
    pub fn names(mut self, lookup: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        self.lookup = Some(Arc::new(lookup));
        self
    }

    /// Returns whether a webhook with this address may be added. A name that cannot be found may: no
    /// forbidden address stands behind it now, and it is looked up again before every send.
    pub async fn check_url(&self, url: &str) -> Result<()> {
        match tokio::time::timeout(CHECK_TIMEOUT, self.route(url)).await {
            Ok(Ok(_) | Err(Forbidden::NotFound)) | Err(_) => Ok(()),
            Ok(Err(why)) => Err(Refusal::field("url", self.explain(why))),
        }
    }

    fn explain(&self, why: Forbidden) -> String {
        match (self.mode, why) {
            (Mode::Loopback, Forbidden::NotHttps | Forbidden::Address(_)) => {
                format!("{why}, or be on this machine (http://127.0.0.1:PORT/path)")
            }
            _ => why.to_string(),
        }
    }

    /// Returns how a permitted address is reached.
    pub(crate) async fn route(&self, url: &str) -> Result<Route, Forbidden> {
        let url = Url::parse(url).map_err(|_| Forbidden::Malformed)?;
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Forbidden::Malformed),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Forbidden::Credentials);
        }
        if !secure && self.mode == Mode::Public {
            return Err(Forbidden::NotHttps);
        }
        // The parser has normalized every spelling of an address (decimal, octal, hexadecimal, short).
        let host = url.host_str().unwrap_or_default();
        let ips = match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(ip) => vec![ip],
            Err(_) => match self.look_up(host).await {
                Err(Forbidden::NotFound) => Vec::new(),
                found => found?,
            },
        };
        let local = Route::Local.check_addresses(&ips).is_ok();
        match self.mode {
            Mode::Loopback if local => Ok(Route::Local),
            _ => match Route::Public.check_addresses(&ips) {
                // A name that is not found may appear later, but not on this machine.
                Ok(()) | Err(Forbidden::NotFound) if !secure => Err(Forbidden::NotHttps),
                admitted => admitted.map(|()| Route::Public),
            },
        }
    }

    async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, Forbidden> {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        if name.is_empty() {
            return Err(Forbidden::Malformed);
        }
        // These names mean this machine (RFC 6761), whatever a resolver returns.
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        match &self.lookup {
            Some(lookup) => Ok(lookup(&name)),
            None => {
                let found = tokio::net::lookup_host((name, 0)).await.map_err(|_| Forbidden::NotFound)?;
                Ok(found.map(|address| address.ip()).collect())
            }
        }
    }

    /// Returns a resolver for the HTTP client that permits only addresses of `route`.
    pub(crate) fn resolver(&self, route: Route) -> Arc<dyn Resolve> {
        Arc::new(CheckedResolver { targets: self.clone(), route })
    }
}

struct CheckedResolver {
    targets: WebhookTargets,
    route: Route,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (targets, route) = (self.targets.clone(), self.route);
        Box::pin(async move {
            let ips = targets.look_up(name.as_str()).await?;
            route.check_addresses(&ips)?;
            let addresses: Addrs = Box::new(ips.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

const LOOPBACK: &str = "a loopback address";

/// Returns the kind of an address that is not a host of the public network.
///
/// Addresses reserved for documentation pass: nothing is behind them, and tests use them.
fn reserved(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => reserved_v4(ip),
        IpAddr::V6(ip) => reserved_v6(ip),
    }
}

fn reserved_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [0, ..] => Some("an unspecified address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("a private address"),
        [100, 64..=127, ..] => Some("a carrier's shared address"),
        [127, ..] => Some(LOOPBACK),
        [169, 254, ..] => Some("a link-local address"),
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => Some("an address for special use"),
        [224..=239, ..] => Some("a multicast address"),
        [240..=255, ..] => Some("a reserved address"),
        _ => None,
    }
}

fn reserved_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let parts = ip.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(LOOPBACK),
        // Addresses that embed one of version 4: mapped, compatible, translated (NAT64), 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => reserved_v4(embedded(high, low)),
        [0x64, 0xff9b, ..] => Some("a translated address of a private network"),
        [0x2001, 0, ..] => Some("a tunnel's address"),
        [0x0100, 0, 0, 0, ..] => Some("an address that leads nowhere"),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some("a private address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}
