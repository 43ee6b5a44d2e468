//! Access to the server: the control API's token, and the `Host` and `Origin` of every request.
//!
//! The server listens on the developer's own machine, next to a browser. A page of another site must not be
//! able to use it, neither directly (`Origin`) nor by resolving its own name to this machine (`Host`).

use std::net::SocketAddr;

use http::{HeaderMap, HeaderValue, header, uri::Authority};
use sha2::{Digest, Sha256};

use crate::world::{Refusal, Result};

/// The rules that a request is checked against.
#[derive(Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    /// The address as most requests name it.
    name: String,
    /// Only a hash, so that the duration of a comparison reveals nothing about the token.
    token: Option<[u8; 32]>,
    /// Whether to accept requests for another port of this machine, from which a gateway forwards them.
    any_port: bool,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, token: Option<&str>, any_port: bool) -> Self {
        let token = token.map(|token| Sha256::digest(token).into());
        Self { address, name: address.to_string(), token, any_port }
    }

    /// Checks that a request may use the control API.
    pub(crate) fn check_control(&self, request: &http::request::Parts) -> Result<()> {
        self.check_host_and_origin(request)?;
        match self.token {
            Some(token)
                if bearer(&request.headers).map(|given| Sha256::digest(given).into()) != Some(token) =>
            {
                Err(Refusal::new(
                    401,
                    "The control API needs `Authorization: Bearer` with the token of --control-token.",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a request for another server, or from a page of another one.
    pub(crate) fn check_host_and_origin(&self, request: &http::request::Parts) -> Result<()> {
        let named = request.uri.authority().map(|authority| Some(authority.as_str()));
        let mut hosts = request
            .headers
            .get_all(header::HOST)
            .iter()
            .map(|host| host.to_str().ok())
            .chain(named)
            .peekable();
        // On a public address the server cannot know its own names; there a token is required, which no
        // foreign page has.
        if self.address.ip().is_loopback()
            && (hosts.peek().is_none() || !hosts.all(|host| host.is_some_and(|host| self.may_be_host(host))))
        {
            return Err(Refusal::new(
                403,
                "The Host of this request is not this server; use the address it printed.",
            ));
        }
        self.check_origin(&request.headers)
    }

    /// Refuses requests of web pages of other sites. Programs send no `Origin`.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let own = |origin: &HeaderValue| {
            let origin = origin.to_str().ok();
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            // A page of this server has the same Host, whatever that name is.
            host.is_some_and(|host| {
                self.is_own(host)
                    || (!self.address.ip().is_loopback()
                        && headers.get(header::HOST).is_some_and(|own| own.as_bytes() == host.as_bytes()))
            })
        };
        if headers.get_all(header::ORIGIN).iter().all(own) {
            return Ok(());
        }
        Err(Refusal::new(403, "Requests of web pages are accepted from this server's own pages only."))
    }

    fn may_be_host(&self, host: &str) -> bool {
        self.is_own(host) || (self.any_port && self.port_here(host).is_some())
    }

    fn is_own(&self, host: &str) -> bool {
        let is_name = host == self.name && self.address.ip().is_loopback();
        is_name || self.port_here(host) == Some(self.address.port())
    }

    /// Returns the port of a host if it names this machine.
    fn port_here(&self, host: &str) -> Option<u16> {
        let host = host.parse::<Authority>().ok()?;
        let port = host.port_u16().unwrap_or(80);
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        let is_here = name.eq_ignore_ascii_case("localhost")
            || name.parse().is_ok_and(|ip: std::net::IpAddr| ip == self.address.ip() || ip.is_loopback());
        (is_here && !host.as_str().contains('@')).then_some(port)
    }
}

/// Returns the token of the `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty()).then_some(rest)
}
