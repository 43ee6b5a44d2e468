//! The guide: its agent in Python gives the table that it shows.

use crate::run::{command, ended, page, program, unpack};

#[test]
fn the_agent_of_the_guide_gives_the_table_that_it_shows() {
    let page = page("docs/redteam.md");
    let folder = tempfile::tempdir().expect("a folder");
    unpack(&page, folder.path());
    let mut redteam = command(program("shared-inbox-mock"));
    redteam.args(["redteam", "--", "python3", "my_agent.py"]).current_dir(folder.path());
    let (said, status) = ended(redteam);
    assert_eq!(status, Some(1), "{said}");
    let table = |text: &str| -> Vec<String> {
        let from = text.lines().skip_while(|line| !line.starts_with("family "));
        let rows = from.take_while(|line| !line.is_empty() && *line != "```");
        rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(table(&said), table(&page));
}
