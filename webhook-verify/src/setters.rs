//! Setters of builders that take a value as it is.

/// Writes a setter for each line: the method, the field, and its type.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($field:ident).+): $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$($field).+ = $name;
            self
        }
    )*};
}
pub(crate) use setters;
