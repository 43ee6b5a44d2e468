//! Codex keeps its settings as TOML, with the comments of its owner.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::NAME;

/// The file with the server in it.
pub(super) fn merge(text: &str, server: &Value) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| e.message().to_owned())?;
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or("`mcp_servers` is not a table")?;
    let mut table = match servers.get(NAME) {
        Some(Item::Table(old)) => old.clone(),
        _ => Table::new(),
    };
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    table["command"] = value(words(&server["command"]));
    let args: Array = server["args"].as_array().into_iter().flatten().map(words).collect();
    table["args"] = value(args);
    match server["env"].as_object() {
        Some(env) => {
            let env: InlineTable = env.iter().map(|(name, one)| (name.as_str(), words(one))).collect();
            table["env"] = value(env);
        }
        None => _ = table.remove("env"),
    }
    servers.insert(NAME, Item::Table(table));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rest_of_the_file_stays() {
        let before = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"a\" # keep\n";
        let server = json!({"command": "/bin/b", "args": ["--sandbox"], "env": {"K": "v"}});
        let after = merge(before, &server).unwrap();
        assert!(after.starts_with(before), "{after}");
        assert!(after.ends_with(
            "[mcp_servers.shared-inbox]\ncommand = \"/bin/b\"\nargs = [\"--sandbox\"]\nenv = { K = \"v\" }\n"
        ));
        assert_eq!(merge(&after, &server).unwrap(), after);
    }

    #[test]
    fn settings_of_the_owner_in_our_table_stay() {
        let before = "[mcp_servers.shared-inbox]\ncommand = \"old\"\nstartup_timeout_sec = 20\n";
        let after = merge(before, &json!({"command": "new", "args": []})).unwrap();
        assert!(after.contains("command = \"new\"") && after.contains("startup_timeout_sec = 20"), "{after}");
    }

    #[test]
    fn a_file_that_is_not_toml_is_refused() {
        assert!(merge("[[[", &json!({})).is_err());
        assert!(merge("mcp_servers = 1", &json!({})).is_err());
    }
}
