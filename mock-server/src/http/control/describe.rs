//! How the input and the output of a call are described.

use schemars::{Schema, SchemaGenerator};

/// How to describe a call.
pub(super) struct Schemas {
    pub(super) input: fn(&mut InputSchema, &mut SchemaGenerator),
    pub(super) output: fn(&mut SchemaGenerator) -> OutputSchema,
}

impl Schemas {
    pub(super) fn for_call<A: DescribeInput, G: DescribeOutput>() -> Self {
        Self { input: A::describe, output: G::describe }
    }
}

/// The input of a call.
#[derive(Debug, Default)]
pub struct InputSchema {
    /// The schema of the query, an object.
    pub query: Vec<Schema>,
    /// The schema of the body, and whether there must be one.
    pub body: Option<(Schema, bool)>,
}

/// The response of a call.
#[derive(Debug)]
pub struct OutputSchema {
    /// The status of success.
    pub status: u16,
    /// The content type and the schema, when there is a body.
    pub body: Option<(&'static str, Schema)>,
}

/// Describes what a call takes.
pub(super) trait DescribeInput {
    fn describe(_taken: &mut InputSchema, _generator: &mut SchemaGenerator) {}
}

/// Describes how a call responds.
pub(super) trait DescribeOutput {
    fn describe(generator: &mut SchemaGenerator) -> OutputSchema;
}
