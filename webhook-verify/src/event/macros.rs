//! The two forms that the types of an event share.

/// `Debug` that shows these fields and says that there are more: ids, states and numbers, never a name or a
/// text.
macro_rules! shows {
    ($($name:ident: $($field:ident)*;)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}
pub(super) use shows;

/// Gives each struct a `new` that takes these fields, and the values of the others.
macro_rules! constructors {
    ($($name:ident($($arg:ident: $type:ty),*) $({ $($field:ident: $value:expr),* })?;)*) => {$(
        impl $name {
            /// Creates a value with these fields. The others are empty, and can be set afterwards.
            #[must_use]
            pub fn new($($arg: $type),*) -> Self {
                Self { $($arg: $arg.into(),)* $($($field: $value),*)? }
            }
        }
    )*};
}
pub(super) use constructors;
