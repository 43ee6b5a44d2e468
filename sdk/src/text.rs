//! Types that are a text in JSON.

use std::borrow::Cow;

use serde::Deserialize;

/// A text, borrowed from the JSON where that is possible. Transparent, because a value of a query is a bare
/// string.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// Gives a type with `parse` the traits that read a text.
macro_rules! parsed {
    ($name:ident, $error:ident) => {
        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl TryFrom<$crate::text::Text<'_>> for $name {
            type Error = $error;
            fn try_from(text: $crate::text::Text<'_>) -> Result<Self, $error> {
                Self::parse(&*text.0)
            }
        }
    };
}
pub(crate) use parsed;

/// `Debug` as `Display`, and an inline JSON Schema.
macro_rules! shown {
    ($name:ident, $schema:tt) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        #[cfg(feature = "__schemas")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
pub(crate) use shown;
