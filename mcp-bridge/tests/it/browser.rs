//! A stand-in for the person's browser, and for the machine's way to open one.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use reqwest::{StatusCode, redirect::Policy};

use crate::fixture::until;

/// Stands in for the machine's way to open a browser: writes down what it is to open, a line each time, and then does what
/// `then` says, in the shell.
pub(crate) fn opener(folder: &Path, then: &str) -> PathBuf {
    let seen = folder.join("opened");
    let script = format!(
        "#!/bin/sh\ncat '{0}' > '{0}.new' 2>/dev/null; echo \"$1\" >> '{0}.new' && mv '{0}.new' '{0}'\ncd '{1}'\n{then}\n",
        seen.display(),
        folder.display()
    );
    for name in ["xdg-open", "open"] {
        let program = folder.join(name);
        fs::write(&program, &script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    seen
}

/// The page in a browser that came through the private file.
pub(crate) struct Opened {
    http: reqwest::Client,
    url: String,
    origin: String,
    cookie: String,
    token: String,
}

impl Opened {
    /// The address and the secret that the private file holds.
    pub(crate) fn way_in(file: &str) -> (String, String) {
        let html = fs::read_to_string(file).unwrap();
        let after = |mark: &str| html.split(mark).nth(1).unwrap().split('"').next().unwrap().to_owned();
        (after("action=\""), after("name=\"secret\" value=\""))
    }

    /// What the browser does with the private file.
    pub(crate) async fn from_file(file: &str) -> Result<Self, StatusCode> {
        let mut window = Self::enter(file, "null").await?;
        window.show().await;
        Ok(window)
    }

    /// Brings the secret of the private file from this origin. The question has not been shown by then.
    pub(crate) async fn enter(file: &str, origin: &str) -> Result<Self, StatusCode> {
        let (address, secret) = Self::way_in(file);
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let request = http
            .post(&address)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", origin)
            .header("sec-fetch-site", "cross-site")
            .body(format!("secret={secret}"));
        let response = request.send().await.unwrap();
        if response.status() != StatusCode::OK {
            return Err(response.status());
        }
        let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let page = response.text().await.unwrap();
        let path = page.split("url=").nth(1).unwrap().split('"').next().unwrap();
        let origin = address.rsplit_once('/').unwrap().0.to_owned();
        let url = format!("{origin}{path}");
        Ok(Self { http, url, origin, cookie, token: String::new() })
    }

    /// Shows the question.
    pub(crate) async fn show(&mut self) {
        let shown = self.http.get(&self.url).header("cookie", &self.cookie).send().await.unwrap();
        let shown = shown.text().await.unwrap();
        let token = shown.split("name=\"token\" value=\"").nth(1).unwrap_or_default();
        self.token = token.split('"').next().unwrap().to_owned();
    }

    /// Waits until the page's clock says that more than a second has passed: what is answered sooner does not count.
    pub(crate) async fn read_first(&self) {
        let clock = async || {
            let page = self.http.get(format!("{}/favicon.ico", self.origin)).send().await.unwrap();
            let date = page.headers()["date"].to_str().unwrap().to_owned();
            jiff::fmt::rfc2822::parse(&date).unwrap().timestamp()
        };
        let opened = clock().await;
        until(async || clock().await.duration_since(opened).as_secs() >= 2).await;
    }

    pub(crate) async fn press(&self, answer: &str) -> (StatusCode, String) {
        let request = self.http.post(&self.url).body(format!("token={}&answer={answer}", self.token));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.header("origin", &self.origin).header("cookie", &self.cookie);
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }
}
