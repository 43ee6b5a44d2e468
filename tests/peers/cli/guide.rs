//! The guide: its agent in Python gives the table that it shows.

use std::{fs, process::Command};

use shared_inbox_tests::peers;

#[test]
#[ignore = "needs Python"]
fn the_agent_of_the_guide_gives_the_table_that_it_shows() {
    if Command::new("python3").arg("--version").output().is_err() {
        return peers::skip::<()>("python3 cannot be started").unwrap_or_default();
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/redteam.md");
    let page = fs::read_to_string(page).expect("the guide");
    let (_, agent) = page.split_once("```python title=\"my_agent.py\"\n").expect("an agent");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("my_agent.py"), agent.split("```").next().unwrap_or_default())
        .expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
    command.current_dir(folder.path()).args(["redteam", "--"]).args(["python3", "my_agent.py"]);
    let said = command.output().expect("it runs");
    assert_eq!(said.status.code(), Some(1));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let table = |text: &str| -> Vec<String> {
        let from = text.lines().skip_while(|line| !line.starts_with("family "));
        let rows = from.take_while(|line| !line.is_empty() && *line != "```");
        rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(table(&said), table(&page));
}
