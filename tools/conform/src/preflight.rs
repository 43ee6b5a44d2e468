//! What is looked at before anything is written: whether this is such a service, and whether the key may be
//! used.

use serde_json::Value;

use super::{
    settings::{CannotRun, Conform},
    wire::{
        http::{Call, Http},
        reply::{cut, printable},
    },
};

/// What the key may do.
#[derive(Debug)]
pub(super) struct Key {
    /// `None` when the service does not say: a rule finds that, and all scopes are tried.
    scopes: Option<Vec<String>>,
}

impl Key {
    /// Returns the first of these scopes that the key lacks.
    pub(super) fn lacks(&self, scopes: &'static [&'static str]) -> Option<&'static str> {
        let had = self.scopes.as_ref()?;
        scopes.iter().find(|scope| !had.iter().any(|it| it == *scope)).copied()
    }
}

fn cannot(why: impl Into<String>) -> CannotRun {
    CannotRun(why.into())
}

/// Refuses what can be refused without a request.
pub(super) fn check_settings(settings: &Conform) -> Result<(), CannotRun> {
    let Conform { base_url, key, read_only, .. } = settings;
    let url =
        reqwest::Url::parse(base_url).map_err(|error| cannot(format!("--base-url {base_url}: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(cannot(format!("--base-url {base_url}: must start with http:// or https://")));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(cannot("--base-url: must be an address without a user name, password or query"));
    }
    if key.is_empty() || key.chars().any(|c| !c.is_ascii_graphic()) {
        return Err(cannot("the API key is empty or has characters that no key has"));
    }
    if !read_only && key.starts_with("rk_") && !key.starts_with("rk_test_") {
        return Err(cannot(
            "this is a live key: use a test key (rk_test_…), or --read-only to send GET requests only",
        ));
    }
    Ok(())
}

/// Returns one `GET /me`.
pub(super) async fn look(settings: &Conform, http: &Http) -> Result<Key, CannotRun> {
    let at = http.base_url();
    let no_such = |what: &str| cannot(format!("{at} is no such service: GET /me answered {what}"));
    let reply = http
        .once(Some(&settings.key), &Call::get("/me"))
        .await
        .map_err(|reason| cannot(format!("{at} cannot be used: GET /me: {reason}")))?;
    let sentence = reply.json().and_then(|json| json["error"].as_str());
    match (reply.status, sentence) {
        (401, Some(_)) => return Err(cannot(format!("{at} refuses this key (401): it is wrong or revoked"))),
        (403, Some(sentence)) => {
            return Err(cannot(format!("{at} refuses this key (403): {}", printable(&cut(sentence, 200)))));
        }
        (429, _) => {
            return Err(cannot(format!("{at} answers 429 to GET /me: wait a minute, then run it again")));
        }
        (200..=299, _) => {}
        (status @ 300..=399, _) => return Err(no_such(&format!("{status}, a redirect"))),
        (status, _) => return Err(no_such(&format!("{status} ({})", reply.content_type()))),
    }
    let me = match reply.json() {
        Some(me @ Value::Object(_)) if me.get("agent").is_some() || me.get("scopes").is_some() => me,
        Some(_) => return Err(no_such("JSON that describes no agent")),
        None => return Err(no_such(&format!("{} with {}, not JSON", reply.status, reply.content_type()))),
    };
    let scopes = me["scopes"].as_array().map(|scopes| {
        scopes.iter().filter_map(|scope| scope.as_str().map(str::to_owned)).collect::<Vec<_>>()
    });
    if scopes.as_ref().is_some_and(|scopes| !scopes.iter().any(|scope| scope == "read")) {
        return Err(cannot("the key lacks the scope `read`: without it nothing can be tried"));
    }
    let livemode = match &me["livemode"] {
        Value::Bool(livemode) => *livemode,
        _ if settings.read_only => true,
        _ => {
            return Err(cannot(
                "GET /me does not say whether this key is live (`livemode`): refusing to write anything",
            ));
        }
    };
    if livemode && settings.key.starts_with("rk_test_") {
        return Err(cannot("GET /me says `livemode: true` of a test key: refusing to use it"));
    }
    if livemode && !settings.read_only {
        return Err(cannot(
            "GET /me says `livemode: true`: use a test key, or --read-only to send GET requests only",
        ));
    }
    Ok(Key { scopes })
}
