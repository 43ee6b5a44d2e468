//! A stand-in for the person's browser, and for the machine's way to open one.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use reqwest::StatusCode;

use super::{
    fixture::{Client, Fixture, Older, Person, connect, until},
    window::{Window, http},
};

/// Stands in for the machine's way to open a browser: writes down what it is to open, a line each time, and
/// then does what `then` says, in the shell.
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

/// The program, which opens a browser by the stand-in in this folder.
pub(crate) async fn start_with_browser(fixture: &Fixture, folder: &Path, person: &Person) -> Client {
    let mut command = fixture.program();
    let path = std::env::join_paths([folder, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    command.arg("--ask=browser").env("PATH", path).env("HOME", folder).env("TMPDIR", folder.join("tmp"));
    connect(command, person, Older).await
}

/// Waits until a browser was to open a file, and returns its path.
pub(crate) async fn opened_file(seen: &Path) -> String {
    until(async || seen.exists()).await;
    fs::read_to_string(seen).unwrap().trim().to_owned()
}

/// The address and the secret that the private file holds.
pub(crate) fn address_and_secret(file: &str) -> (String, String) {
    let html = fs::read_to_string(file).unwrap();
    let after = |mark: &str| html.split(mark).nth(1).unwrap().split('"').next().unwrap().to_owned();
    (after("action=\""), after("name=\"secret\" value=\""))
}

impl Window {
    /// Does what a browser does with the private file.
    pub(crate) async fn from_file(file: &str) -> Result<Self, StatusCode> {
        let (address, secret) = address_and_secret(file);
        let request = http()
            .post(&address)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", "null")
            .header("sec-fetch-site", "cross-site")
            .body(format!("secret={secret}"));
        let response = request.send().await.unwrap();
        if response.status() != StatusCode::OK {
            return Err(response.status());
        }
        let headers = response.headers().clone();
        let page = response.text().await.unwrap();
        let path = page.split("url=").nth(1).unwrap().split('"').next().unwrap();
        let mut window = Self::new(format!("{}{path}", address.trim_end_matches("/open")), headers);
        window.load().await;
        Ok(window)
    }
}
