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
pub fn answers(path: &str) -> SchemaGenerator {
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
        let mut schema = match self {
            Rule::Text { min, max, form } => json!({
                "type": "string",
                "minLength": (*min > 0).then_some(min),
                "maxLength": max,
                "pattern": form.map(|form| form.pattern),
                "format": form.and_then(|form| form.format),
            }),
            Rule::OneOf { words, default } => json!({ "type": "string", "enum": words, "default": default }),
            Rule::Integer { min, max, default } => {
                json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
            }
            Rule::Flag { default } => json!({ "type": "boolean", "default": default }),
            Rule::List { min, max, of } => json!({
                "type": "array",
                "items": of.schema(),
                "minItems": (*min > 0).then_some(min),
                "maxItems": max,
            }),
            Rule::Object(fields) => object_schema(fields),
        };
        // What is not set has no place in a schema.
        schema.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
        schema
    }
}
