//! How the page gets into the person's browser: by a private file, which opens it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::{
    browser::{address_and_secret, opened_file, opener, start_with_browser},
    fixture::{
        Answer, Fixture, Mails, Newer, Older, Person, assert_refused, connect, in_process, params,
        structured, text, until,
    },
    window::{BODY, Window, http, link},
};

#[tokio::test]
async fn without_a_browser_or_with_an_opener_that_fails_late_there_is_a_draft() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let person = Person::who(Answer::Yes);
    let mut without = fixture.program();
    without.arg("--ask=browser").env("PATH", "/nowhere");
    let without = connect(without, &person, Older).await;
    opener(folder.path(), "sleep 0.5; exit 3");
    for client in [without, start_with_browser(&fixture, folder.path(), &person).await] {
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(structured(&result)["status"], "draft", "{}", text(&result));
        assert!(text(&result).contains("no browser could be opened"), "{}", text(&result));
    }
    assert_eq!(person.questions().len(), 0, "the client is not asked instead");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "what was to be opened is gone");
}

#[tokio::test]
async fn the_second_in_which_no_answer_counts_begins_when_the_question_is_shown() {
    for answer in ["send", "refuse"] {
        let (fixture, person, client) = in_process(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
        let call = params("reply", fixture.reply(BODY));
        let (state, url) = link(client.service.call_tool_once(call.clone()).await.unwrap());
        // Long after it was asked, and too soon after it was shown.
        person.clock.forward(Duration::from_secs(60));
        let window = Window::open(&url).await;
        person.clock.forward(Duration::from_millis(900));
        window.press(answer).await;
        let result = client.answer(call, &state.unwrap(), json!({ "action": "accept" })).await;
        assert!(text(&result).contains("less than a second"), "{}", text(&result));
        assert_eq!(fixture.mails().await, Mails::draft(BODY));
    }
}

#[tokio::test]
async fn twelve_cancelled_calls_open_three_windows_and_the_client_is_told_to_look_there() {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(folder.path(), "");
    let windows = || fs::read_to_string(&opened).unwrap_or_default().lines().count();
    let person = Person::who(Answer::CannotBeAsked);
    let client = start_with_browser(&fixture, folder.path(), &person).await;
    let call = |i: usize| fixture.reply(&format!("Variant {i}"));
    for i in 0..3 {
        let call = client.start(params("reply", call(i))).await;
        until(async || windows() == i + 1).await;
        if i == 0 {
            let hint = |message: &String| message.contains("look at your browser");
            until(async || person.progress_messages.lock().unwrap().iter().any(hint)).await;
        }
        call.cancel(None).await.unwrap();
    }
    for i in 3..12 {
        assert_refused(&client.call("reply", call(i)).await, "browser was opened");
    }
    assert_eq!(windows(), 3);
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn the_file_is_its_owners_alone_brings_one_browser_in_and_is_gone_with_its_folder_when_it_was_used() {
    let (home, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let opened = opener(home.path(), "");
    let client = start_with_browser(&fixture, home.path(), &Person::who(Answer::CannotBeAsked)).await;
    let _call = client.start(params("reply", fixture.reply(BODY))).await;
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
