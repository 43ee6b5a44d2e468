//! The schemas of what calls take and of how they respond.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};

use super::{
    call::{Accepted, Ack, ApiDocument, Created, EventStream, Json, NoContent, OkResponse, WorldDocument},
    describe::{DescribeInput, DescribeOutput, InputSchema, OutputSchema},
    input::{Extension, JsonBody, PathId, QueryParams, RawBody},
};
use crate::world::Page;

impl DescribeInput for () {}
impl DescribeInput for PathId {}
impl<T> DescribeInput for Extension<T> {}

impl<A: DescribeInput, B: DescribeInput> DescribeInput for (A, B) {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        A::describe(taken, generator);
        B::describe(taken, generator);
    }
}

impl<T: JsonSchema> DescribeInput for QueryParams<T> {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        taken.query.push(T::json_schema(generator));
    }
}

impl DescribeInput for RawBody {
    fn describe(taken: &mut InputSchema, _: &mut SchemaGenerator) {
        taken.body = Some((world_document(), true));
    }
}

impl<T: JsonSchema> DescribeInput for JsonBody<T> {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        let required = schema_for!(T).get("required").is_some();
        taken.body = Some((generator.subschema_for::<T>(), required));
    }
}

fn json<T: JsonSchema>(status: u16, generator: &mut SchemaGenerator) -> OutputSchema {
    OutputSchema { status, body: Some(("application/json", generator.subschema_for::<T>())) }
}

macro_rules! describe_output {
    ($($name:ty $(where $type:ident)? => |$generator:pat_param| $schema:expr;)*) => {$(
        impl$(<$type: JsonSchema>)? DescribeOutput for $name {
            fn describe($generator: &mut SchemaGenerator) -> OutputSchema {
                $schema
            }
        }
    )*};
}

describe_output! {
    Json<T> where T => |generator| json::<T>(200, generator);
    Created<T> where T => |generator| json::<T>(201, generator);
    Accepted<T> where T => |generator| json::<T>(202, generator);
    Page<T> where T => |generator| json::<Vec<T>>(200, generator);
    Ack => |generator| json::<OkResponse>(200, generator);
    ApiDocument => |generator| json::<serde_json::Map<String, serde_json::Value>>(200, generator);
    NoContent => |_| OutputSchema { status: 204, body: None };
    WorldDocument => |_| OutputSchema { status: 200, body: Some(("application/json", world_document())) };
    EventStream => |_| OutputSchema {
        status: 200,
        body: Some(("text/event-stream", json_schema!({ "type": "string" }))),
    };
}

/// Returns an outline: the schema of a world is as large as all others together, and the program prints it.
fn world_document() -> Schema {
    json_schema!({
        "type": "object",
        "title": "WorldDocument",
        "description": "The whole world as one document. `shared-inbox-mock schema` prints its JSON Schema.",
        "additionalProperties": true,
    })
}
