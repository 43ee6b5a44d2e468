//! The private file by which a browser comes to the page.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use crate::{
    browser::{address_and_secret, opened_file, opener, start_with_browser},
    fixture::{Answer, Fixture, Person, params, until},
    window::{Window, http, reply},
};

#[tokio::test]
async fn the_file_is_its_owners_alone_brings_one_browser_in_and_is_gone_with_its_folder_when_it_was_used() {
    let (home, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(home.path(), "");
    let client = start_with_browser(&fixture, home.path(), &Person::who(Answer::CannotBeAsked)).await;
    let _call = client.start(params("reply", reply(&fixture))).await;
    let file = opened_file(&opened).await;
    let folder = Path::new(&file).parent().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder), mode(file.as_ref())), (0o700, 0o600));

    // Nothing but a window that the file opened may bring its secret.
    let (address, secret) = address_and_secret(&file);
    for (name, value) in [
        ("host", "evil.example"),
        ("content-type", "text/plain"),
        ("sec-fetch-dest", "iframe"),
        ("sec-fetch-mode", "no-cors"),
        ("origin", "http://evil.example"),
        ("origin", "https://127.0.0.1:4000"),
    ] {
        let form = http().post(&address).body(format!("secret={secret}"));
        let form = form.header("content-type", "application/x-www-form-urlencoded").header("origin", "null");
        let mut request = form.build().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(http().execute(request).await.unwrap().status(), 403, "{name}: {value}");
    }
    assert!(Window::from_file(&file).await.is_ok(), "the secret was not used up");
    assert!(!folder.exists());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn leftovers_are_removed_but_nothing_that_lives_is_linked_or_is_not_ours() {
    let (home, elsewhere, fixture) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Fixture::new().await);
    let at = |name: &str| home.path().join(format!("shared-inbox-question-{name}"));
    let (mine, temporary) =
        (home.path().join("mine"), home.path().join("tmp/shared-inbox-question-4000000-a"));
    fs::write(elsewhere.path().join("open.html"), "").unwrap();
    symlink(elsewhere.path(), at("linked")).unwrap();
    for folder in [&at("empty"), &at("links"), &at("left"), &at("more"), &mine, &temporary] {
        fs::create_dir_all(folder).unwrap();
    }
    for folder in [&at("left"), &at("more"), &mine, &temporary] {
        fs::write(folder.join("open.html"), "").unwrap();
    }
    fs::write(at("more").join("preview.txt"), "").unwrap();
    symlink(elsewhere.path().join("open.html"), at("links").join("open.html")).unwrap();
    let opened = opener(home.path(), "");
    let person = Person::who(Answer::CannotBeAsked);
    let ask = async |body: &str| {
        _ = fs::remove_file(&opened);
        let client = start_with_browser(&fixture, home.path(), &person).await;
        let call = client.start(params("reply", fixture.reply(body))).await;
        (client, call, PathBuf::from(opened_file(&opened).await))
    };
    let (_live, _call, living) = ask("From a bridge that lives").await;
    let (killed, _, left) = ask("From a bridge that is killed").await;
    killed.kill().await;
    assert!(left.exists());
    let _next = start_with_browser(&fixture, home.path(), &person).await;
    let removed = [left, at("left"), at("empty"), temporary];
    until(async || removed.iter().all(|one| !one.exists())).await;
    assert!(at("more").join("preview.txt").exists() && mine.join("open.html").exists());
    assert!(elsewhere.path().join("open.html").exists(), "links are not followed");
    assert!(living.exists(), "a bridge that lives needs its own");
}

/// What the process has read from files until now.
#[cfg(target_os = "linux")]
fn bytes_read(pid: u32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_visit_to_the_page_costs_the_same_however_many_connections_the_machine_has() {
    const MANY: usize = 200;
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(folder.path(), "");
    let client = start_with_browser(&fixture, folder.path(), &Person::who(Answer::CannotBeAsked)).await;
    let visited = async {
        let window = Window::from_file(&opened_file(&opened).await).await.unwrap();
        let visit = async || {
            let before = bytes_read(client.pid());
            window.again().await;
            bytes_read(client.pid()) - before
        };
        let few = visit().await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| (std::net::TcpStream::connect(address).unwrap(), listener.accept().unwrap());
        let connections: Vec<_> = (0..MANY).map(connect).collect();
        let many = visit().await;
        drop(connections);
        // The system's list has 150 bytes for each end of a connection.
        assert!(many < few + 150 * MANY as u64, "{few} bytes, and {many} with {MANY} connections more");
        window.press("refuse").await;
    };
    tokio::join!(client.call("reply", reply(&fixture)), visited);
}
