//! Codex keeps its settings as TOML, with the comments of its owner.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{NAME, SettingsFile, entry::OURS};

pub(super) struct File {
    document: DocumentMut,
    windows: bool,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // The parser makes all line ends alike; most of them say what the owner's are.
        let ends = text.matches('\n').count();
        let windows = text.matches("\r\n").count() * 2 > ends;
        let document = text.parse().map_err(|e: toml_edit::TomlError| e.message().to_owned())?;
        Ok(Self { document, windows })
    }
}

impl SettingsFile for File {
    fn entry(&self) -> Result<Option<Json>, String> {
        let Some(servers) = self.document.get("mcp_servers") else { return Ok(None) };
        let servers = servers.as_table_like().ok_or("`mcp_servers` is not a table")?;
        servers
            .get(NAME)
            .map(|entry| entry.as_table_like().map(json).ok_or_else(|| format!("`{NAME}` is not a table")))
            .transpose()
    }

    fn set(&mut self, entry: &Json) -> Result<(), String> {
        let table = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let servers = self.document.entry("mcp_servers").or_insert_with(table);
        let servers = servers.as_table_like_mut().ok_or("`mcp_servers` is not a table")?;
        if servers.get(NAME).is_none() {
            servers.insert(NAME, Item::Table(Table::new()));
        }
        let ours =
            servers.get_mut(NAME).and_then(Item::as_table_like_mut).ok_or("the entry is not a table")?;
        OURS.into_iter().chain(["env"]).for_each(|name| put(ours, name, &entry[name]));
        Ok(())
    }

    fn text(&self) -> String {
        let text = self.document.to_string();
        if self.windows { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
    }
}

/// Sets a field that is different, and leaves its comment where it is; of a table, only what is different in
/// it.
fn put(table: &mut dyn TableLike, name: &str, new: &Json) {
    let Some(mut new_value) = toml(new) else { return };
    let Some(old) = table.get_mut(name) else {
        _ = table.insert(name, Item::Value(new_value));
        return;
    };
    if let (Some(old), Json::Object(fields)) = (old.as_table_like_mut(), new) {
        let names: Vec<_> = old.iter().map(|(name, _)| name.to_owned()).collect();
        names.iter().filter(|name| !fields.contains_key(*name)).for_each(|name| _ = old.remove(name));
        fields.iter().for_each(|(name, new)| put(old, name, new));
    } else if let Some(old) = old.as_value_mut().filter(|old| plain(old) != *new) {
        *new_value.decor_mut() = old.decor().clone();
        *old = new_value;
    }
}

/// Texts, lists of texts and tables of texts are all that is ever set.
fn toml(json: &Json) -> Option<Value> {
    Some(match json {
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().filter_map(Json::as_str).collect::<Array>().into(),
        Json::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, json)| Some((name.as_str(), toml(json)?)));
            fields.collect::<InlineTable>().into()
        }
        _ => return None,
    })
}

fn json(table: &dyn TableLike) -> Json {
    let field = |(name, item): (&str, &Item)| {
        let value = match (item.as_table_like(), item.as_value()) {
            (Some(table), _) => json(table),
            (None, Some(value)) => plain(value),
            (None, None) => Json::Null,
        };
        (name.to_owned(), value)
    };
    table.iter().map(field).collect::<Map<_, _>>().into()
}

fn plain(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::InlineTable(table) => json(table),
        Value::Integer(number) => (*number.value()).into(),
        Value::Boolean(yes) => (*yes.value()).into(),
        other => other.to_string().trim().into(),
    }
}
