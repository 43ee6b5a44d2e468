//! Servers in Python and Node, with nothing but their standard libraries.

use shared_inbox_explore::explore::{Explore, Oracle, Scenario};

use super::{app, find, holds};

fn server(program: &str, file: &str, name: &str) -> Explore {
    let scenario = Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]).server();
    Explore::command(scenario, [program, &app(file), name])
}

#[tokio::test]
async fn nothing_is_found_in_a_correct_python_or_node_server() {
    holds(server("python3", "server.py", "correct")).await;
    holds(server("node", "server.mjs", "correct")).await;
}

#[tokio::test]
async fn an_event_that_a_python_or_node_server_handles_twice_is_found() {
    for (program, file, name) in [("python3", "server.py", "no_dedupe"), ("node", "server.mjs", "noDedupe")] {
        assert_eq!(find(server(program, file, name), Oracle::NeverTwice).await, 1);
    }
}
