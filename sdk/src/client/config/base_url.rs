//! Where the service is: checked once, before a key is ever sent there.

use http::Uri;
use reqwest::Url;

use crate::client::error::{Error, Result};

/// The end of every base URL; the version is part of every path.
const SUFFIX: &str = "/api/v1";

#[derive(Clone, Debug)]
pub(crate) struct BaseUrl {
    url: Url,
    /// Without a slash at the end.
    prefix: String,
}

impl BaseUrl {
    /// `plain_http` allows `http` to other machines.
    pub(crate) fn parse(text: &str, plain_http: bool) -> Result<Self> {
        let wrong = |problem: &str| Error::config("base URL", problem);
        let text = text.trim();
        // The parser mends what it can: `https:///api/v1` would be the host `api`.
        let host = text.split_once("://").map_or("", |(_, rest)| rest);
        if host.starts_with(['/', '\\']) || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong(&format!("must be of the form https://<host>{SUFFIX}")));
        }
        let url =
            Url::parse(text).map_err(|error| wrong(&format!("{error}; expected https://<host>{SUFFIX}")))?;
        if !matches!(url.scheme(), "http" | "https")
            || url.host_str().is_none_or(str::is_empty)
            || host.is_empty()
        {
            return Err(wrong(&format!("must be of the form https://<host>{SUFFIX}")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold a user name or password; the key goes in a header"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("must not have a query or a fragment"));
        }
        let prefix = url.as_str().trim_end_matches('/').to_owned();
        if !url.path().trim_end_matches('/').ends_with(SUFFIX) {
            return Err(wrong(&format!("must end in {SUFFIX}")));
        }
        let base = Self { url, prefix };
        if base.url.scheme() == "http" && !base.is_loopback() && !plain_http {
            return Err(wrong(
                "plain http would show the key to everyone on the way; use https, or allow it by name with \
                 `allow_plain_http` for a network that you trust",
            ));
        }
        Ok(base)
    }

    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<std::net::IpAddr>() {
            Ok(ip) => ip.is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Returns the address of a path below the base URL. A path that leads elsewhere is an error.
    pub(crate) fn join(&self, path: &str, query: &[(String, String)]) -> Result<Url> {
        let wrong = || Error::config("path", "must start with / and lead to a place below the base URL");
        if !path.starts_with('/') || path.parse::<Uri>().is_err() || path.contains(['?', '#']) {
            return Err(wrong());
        }
        let mut url = Url::parse(&format!("{}{path}", self.prefix)).map_err(|_| wrong())?;
        if !url.as_str().starts_with(&format!("{}/", self.prefix)) {
            return Err(wrong());
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }
}
