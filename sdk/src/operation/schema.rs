//! JSON Schemas: of inputs from the tables of rules, of outputs from the types.

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform,
};
use serde_json::{Map, Value, json};

use super::Operation;
use crate::{
    Ack, Conversation, ConversationSummary, Document, Mailbox, Me, ReplyResult, SandboxReceipt, Tag,
    input::rule::{Field, Rule},
};

impl Operation {
    /// Returns the JSON Schema of the query or body, with every limit.
    pub fn input_schema(self) -> Value {
        object_schema(self.fields())
    }

    /// Returns the JSON Schema of the response, complete in itself.
    pub fn output_schema(self) -> Value {
        let mut generator = settings().with(|s| s.inline_subschemas = true).into_generator();
        let mut schema = self.output_with(&mut generator);
        if let Value::Object(fields) = &mut schema {
            fields.remove("title");
        }
        schema
    }

    /// Returns the JSON Schemas of all responses, and the parts that they share, which they name by `path`.
    pub fn output_schemas(path: &str) -> (Vec<(Operation, Value)>, Map<String, Value>) {
        let mut generator = answers(path);
        let schemas = Self::KNOWN.iter().copied().map(|op| (op, op.output_with(&mut generator))).collect();
        (schemas, generator.take_definitions(true))
    }

    fn output_with(self, generator: &mut SchemaGenerator) -> Value {
        fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
            let mut schema = generator.subschema_for::<T>();
            generator.transforms_mut().for_each(|t| t.transform(&mut schema));
            schema.to_value()
        }
        match self {
            Operation::Me => of::<Me>(generator),
            Operation::ListConversations => of::<Vec<ConversationSummary>>(generator),
            Operation::GetConversation => of::<Conversation>(generator),
            Operation::AddNote
            | Operation::SetStatus
            | Operation::TagConversation
            | Operation::AssignConversation
            | Operation::RecordSent => of::<Ack>(generator),
            Operation::Reply | Operation::RequestDocuments => of::<ReplyResult>(generator),
            Operation::ListMailboxes => of::<Vec<Mailbox>>(generator),
            Operation::ListTags => of::<Vec<Tag>>(generator),
            Operation::SearchDocuments => of::<Vec<Document>>(generator),
            Operation::SandboxInbound => of::<SandboxReceipt>(generator),
        }
    }
}

/// For what the service writes, with its parts under `path`.
pub(crate) fn answers(path: &str) -> SchemaGenerator {
    settings().with(|s| s.definitions_path = path.to_owned().into()).into_generator()
}

/// Returns the settings for what the service writes: optional fields are those that it may leave out.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|s| s.meta_schema = None)
        .with_transform(RecursiveTransform(for_all_languages))
}

/// Takes away what only concerns Rust: examples in doc comments, `None`, the widths of integers.
fn for_all_languages(schema: &mut Schema) {
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let first_paragraph = text.split("\n\n").next().unwrap_or(text);
        let about = first_paragraph.replace('\n', " ").replace("`None`", "null");
        schema.insert("description".to_owned(), about.into());
    }
    if schema.get("format").is_some_and(|format| format == "uint64") {
        schema.remove("format");
    }
}

pub(super) fn object_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|f| (f.name.to_owned(), f.schema())).collect();
    let required: Vec<_> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

impl Field {
    /// Returns the JSON Schema of this field.
    pub fn schema(&self) -> Value {
        let mut schema = self.rule.schema();
        schema["description"] = self.about.into();
        schema
    }
}

impl Rule {
    fn schema(&self) -> Value {
        let mut schema = Map::new();
        let mut set = |key: &str, value: Value| schema.insert(key.to_owned(), value);
        match self {
            Rule::Text { min, max, form } => {
                set("type", "string".into());
                if *min > 0 {
                    set("minLength", (*min).into());
                }
                if let Some(max) = max {
                    set("maxLength", (*max).into());
                }
                if let Some(form) = form {
                    set("pattern", form.pattern.into());
                    if let Some(format) = form.format {
                        set("format", format.into());
                    }
                }
            }
            Rule::OneOf { words, default } => {
                set("type", "string".into());
                set("enum", json!(words));
                if let Some(default) = default {
                    set("default", (*default).into());
                }
            }
            Rule::Integer { min, max, default } => {
                set("type", "integer".into());
                set("minimum", (*min).into());
                set("maximum", (*max).into());
                set("default", (*default).into());
            }
            Rule::Flag { default } => {
                set("type", "boolean".into());
                set("default", (*default).into());
            }
            Rule::List { min, max, of } => {
                set("type", "array".into());
                set("items", of.schema());
                if *min > 0 {
                    set("minItems", (*min).into());
                }
                if let Some(max) = max {
                    set("maxItems", (*max).into());
                }
            }
            Rule::Object(fields) => return object_schema(fields),
        }
        Value::Object(schema)
    }
}
