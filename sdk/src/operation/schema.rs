//! JSON Schemas: of inputs from the tables of rules, of outputs from the types.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::Operation;
use crate::{
    Conversation, ConversationSummary, Document, Done, Mailbox, Me, ReplyResult, SandboxReceipt, Tag,
    input::{Field, Rule},
};

impl Operation {
    /// The JSON Schema of the query or body, with every limit.
    ///
    /// ```
    /// let schema = shared_inbox::Operation::AddNote.input_schema();
    /// assert_eq!(schema["properties"]["body"]["maxLength"], 10_000);
    /// ```
    pub fn input_schema(self) -> Value {
        object_schema(self.fields())
    }

    /// The JSON Schema of the answer, complete in itself.
    ///
    /// ```
    /// let schema = shared_inbox::Operation::ListTags.output_schema();
    /// assert_eq!(schema["type"], "array");
    /// ```
    pub fn output_schema(self) -> Value {
        // What callers read is what the service writes: optional fields are those that it may leave out.
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        });
        let mut schema = self.output_with(&mut settings.into_generator());
        if let Value::Object(fields) = &mut schema {
            fields.remove("title");
        }
        schema
    }

    /// The JSON Schema of the answer; shared parts are left with the generator.
    pub fn output_with(self, generator: &mut SchemaGenerator) -> Value {
        fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
            generator.subschema_for::<T>().to_value()
        }
        match self {
            Operation::Me => of::<Me>(generator),
            Operation::ListConversations => of::<Vec<ConversationSummary>>(generator),
            Operation::GetConversation => of::<Conversation>(generator),
            Operation::AddNote
            | Operation::SetStatus
            | Operation::TagConversation
            | Operation::AssignConversation
            | Operation::RecordSent => of::<Done>(generator),
            Operation::Reply | Operation::RequestDocuments => of::<ReplyResult>(generator),
            Operation::ListMailboxes => of::<Vec<Mailbox>>(generator),
            Operation::ListTags => of::<Vec<Tag>>(generator),
            Operation::SearchDocuments => of::<Vec<Document>>(generator),
            Operation::SandboxInbound => of::<SandboxReceipt>(generator),
        }
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
    /// The JSON Schema of this field.
    ///
    /// ```
    /// use shared_inbox::{Input, input::SearchDocuments};
    /// assert_eq!(SearchDocuments::FIELDS[2].schema()["maximum"], 100);
    /// ```
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
