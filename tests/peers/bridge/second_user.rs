//! What another user of the machine can do to an open question: see the list of processes, no more.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use rmcp::model::CallToolResult;

use super::{
    browser::{address_and_secret, opened_file, opener, start_with_browser},
    fixture::{Answer, Fixture, Mails, Person, assert_done, assert_refused},
    window::{BODY, Window},
};

const NOBODY: u32 = 65_534;

/// How this test becomes another user: as root by itself, or by a `sudo` that asks for no password.
#[derive(Clone, Copy)]
enum AnotherUser {
    FromRoot,
    BySudo,
}

impl AnotherUser {
    fn find() -> Self {
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            return Self::FromRoot;
        }
        let sudo = Command::new("sudo").args(["-n", "-u", "nobody", "true"]).status();
        assert!(
            sudo.is_ok_and(|status| status.success()),
            "it takes root, or sudo without a password, to become another user"
        );
        Self::BySudo
    }

    /// Runs a command of the shell.
    fn run(self, command: &str) -> Output {
        self.shell(command).output().unwrap()
    }

    fn shell(self, command: &str) -> Command {
        let mut shell = match self {
            Self::FromRoot => {
                let mut bash = Command::new("bash");
                bash.uid(NOBODY).gid(NOBODY);
                bash
            }
            Self::BySudo => {
                let mut sudo = Command::new("sudo");
                sudo.args(["-n", "-u", "nobody", "bash"]);
                sudo
            }
        };
        shell.args(["-c", command]).current_dir("/");
        shell
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asks on the page, from a folder that everybody may look into; what opens the page does `then` afterwards.
/// `act` gets that folder and what was opened.
async fn asked(then: &str, act: impl AsyncFnOnce(AnotherUser, &Path, String)) -> (Fixture, CallToolResult) {
    let (another_user, fixture) = (AnotherUser::find(), Fixture::new().await);
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let opened = opener(folder.path(), then);
    let client = start_with_browser(&fixture, folder.path(), &Person::who(Answer::CannotBeAsked)).await;
    let acts = async { act(another_user, folder.path(), opened_file(&opened).await).await };
    let (result, ()) = tokio::join!(client.call("reply", fixture.reply(BODY)), acts);
    (fixture, result)
}

/// Presses a button after more than the second in which no answer counts.
async fn press(window: &Window, answer: &str) {
    tokio::time::sleep(Duration::from_millis(1050)).await;
    window.press(answer).await;
}

fn port(address: &str) -> u16 {
    reqwest::Url::parse(address).unwrap().port().unwrap()
}

#[tokio::test]
async fn another_user_of_the_machine_cannot_read_what_opens_the_page() {
    let (fixture, result) = asked(
        "for _ in $(seq 600); do [ -e answered ] && break; sleep 0.1; done",
        async |another_user, folder, argument| {
            let seen = said(&another_user.run("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"));
            assert!(seen.contains(&argument), "the list of processes shows what is opened: {argument}");
            let (address, secret) = address_and_secret(&argument);
            let page = address.trim_end_matches("/open");
            assert!(
                !seen.contains(page) && !seen.contains(&secret),
                "neither the page's address nor its secret"
            );
            let file = Path::new(&argument);
            for attempt in [format!("cat '{argument}'"), format!("ls '{}'", file.parent().unwrap().display())]
            {
                let output = another_user.run(&attempt);
                assert!(!output.status.success() && output.stdout.is_empty(), "{attempt}: {}", said(&output));
            }
            let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
            assert_eq!((mode(file.parent().unwrap()), mode(file)), (0o700, 0o600));

            let window = Window::from_file(&argument).await.expect("the person's browser is let in");
            assert!(!file.exists() && !file.parent().unwrap().exists(), "it is removed once it was used");
            press(&window, "send").await;
            fs::write(folder.join("answered"), "").unwrap();
        },
    )
    .await;
    assert_done(&result);
    assert_eq!(fixture.mails().await, Mails::sent(BODY));
}

#[tokio::test]
async fn another_user_who_knows_the_secret_cannot_say_yes() {
    let (fixture, result) = asked("", async |another_user, _, argument| {
        let (address, secret) = address_and_secret(&argument);
        let port = port(&address);
        let form = format!("secret={secret}");
        let request = format!(
            "POST /open HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nOrigin: null\\r\\nContent-Type: \
             application/x-www-form-urlencoded\\r\\nContent-Length: {}\\r\\n\\r\\n{form}",
            form.len()
        );
        let knock = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3; cat <&3");
        let answer = said(&another_user.run(&knock));
        assert_eq!(answer, "", "the connection is closed without a word");
        // Whoever hangs up at once is not taken for the person either.
        another_user.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3"));

        let window = Window::from_file(&argument).await.expect("the question is still open");
        press(&window, "refuse").await;
    })
    .await;
    assert_refused(&result, "declined");
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn another_user_who_holds_connections_open_does_not_keep_the_person_out() {
    let (_, result) = asked("", async |another_user, _, argument| {
        let (address, _) = address_and_secret(&argument);
        let port = port(&address);
        // More than the page serves at once, each held for as long as a browser may take.
        let hold =
            format!("for _ in $(seq 200); do exec {{fd}}<>/dev/tcp/127.0.0.1/{port}; done; echo held; read");
        let mut holder = another_user.shell(&hold);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut held = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut held).unwrap();
        assert_eq!(held, "held\n");
        let window = tokio::time::timeout(Duration::from_secs(60), Window::from_file(&argument)).await;
        let window = window.expect("the person's browser is served").expect("and let in");
        press(&window, "refuse").await;
        drop(holder.stdin.take());
        holder.wait().unwrap();
    })
    .await;
    assert_refused(&result, "declined");
}
