//! Describes every control call with its schemas. `examples/write_documents` makes the OpenAPI document of
//! it.

use schemars::SchemaGenerator;

use super::{
    describe::{InputSchema, OutputSchema},
    table,
};

/// One call of the control API.
#[derive(Debug)]
pub struct CallDescription {
    /// The method, in capitals.
    pub method: String,
    /// The path below the prefix.
    pub path: &'static str,
    /// The operation id.
    pub name: &'static str,
    /// Its query and body.
    pub input: InputSchema,
    /// Its response.
    pub output: OutputSchema,
}

/// Describes every call of the control API.
pub fn control_calls(input: &mut SchemaGenerator, output: &mut SchemaGenerator) -> Vec<CallDescription> {
    let describe = |call: super::call::Call| {
        let mut taken = InputSchema::default();
        (call.schemas.input)(&mut taken, input);
        let (method, output) = (call.method.to_string(), (call.schemas.output)(output));
        CallDescription { method, path: call.path, name: call.name, input: taken, output }
    };
    table::all().map(describe).collect()
}
