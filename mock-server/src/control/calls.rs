//! The macro that declares the families of control calls.

/// Declares a family of calls. Each entry has its HTTP method, path, name and summary, and below them the method of [`Control`]
/// with its input, its output and the response over HTTP, with a conversion in brackets. The entry in the table and the method
/// are made from it. Calls that need more follow behind `also`.
///
/// A parameter is an `id` of the path, the `body` or the `query`. A method of a `list` cannot fail, one of a `paged` list
/// takes a section too.
macro_rules! calls {
    ($(
        $(#[$meta:meta])*
        $verb:ident $path:literal $name:literal $summary:literal
        $(about $about:literal)?
        $(conflict $conflict:literal)?
        $(errors $errors:literal)?
        fn $method:ident($($kind:ident $arg:ident $(: $type:ty)?),*) -> $out:ty as $give:ident $(($shown:expr))? {
            |$it:ident $(, $section:ident)?| $body:expr
        }
    )*
    $(; also [$($call:expr),* $(,)?])?) => {
        impl $crate::control::Control {$(
            $crate::control::calls::calls! {
                @method $verb [#[doc = concat!($summary, ".")] $(#[$meta])* $(
                    #[doc = "\n# Errors\n"]
                    #[doc = $errors]
                )?]
                $method($($kind $arg $(: $type)?),*) $out, $it $($section)? => $body
            }
        )*}

        /// Returns the calls of this family.
        pub(super) fn calls() -> Vec<$crate::control::call::Call> {
            vec![
                $($crate::control::calls::calls!(
                    @call $verb $path $name $summary $method($($kind $arg),*) $give $(($shown))?
                )$(.about($about))?$(.conflict($conflict))?,)*
                $($($call,)*)?
            ]
        }
    };

    (@method list [$($doc:tt)*] $method:ident() $out:ty, $it:ident => $body:expr) => {
        $($doc)*
        pub async fn $method(&self) -> Vec<$out> {
            let $it = self;
            $body
        }
    };
    (@method paged [$($doc:tt)*] $method:ident($($kind:ident $arg:ident $(: $type:ty)?),*) $out:ty, $it:ident $section:ident => $body:expr) => {
        $($doc)*
        pub async fn $method(
            &self,
            $($arg: $crate::control::calls::calls!(@type $kind $($type)?),)*
            $section: $crate::world::Section,
        ) -> $crate::world::Result<$crate::world::Page<$out>> {
            let $it = self;
            $body
        }
    };
    (@method $verb:ident [$($doc:tt)*] $method:ident($($kind:ident $arg:ident $(: $type:ty)?),*) $out:ty, $it:ident => $body:expr) => {
        $($doc)*
        pub async fn $method(
            &self,
            $($arg: $crate::control::calls::calls!(@type $kind $($type)?)),*
        ) -> $crate::world::Result<$out> {
            let $it = self;
            $body
        }
    };

    (@type id) => { impl AsRef<str> };
    (@type $kind:ident $type:ty) => { $type };

    (@call list $path:literal $name:literal $summary:literal $method:ident() $give:ident) => {
        $crate::control::call::list($path, $name, $summary, |it: $crate::control::Control, ()| async move {
            Ok($crate::control::call::Json(it.$method().await))
        })
    };
    (@call paged $path:literal $name:literal $summary:literal $method:ident($($kind:ident $arg:ident),*) $give:ident) => {
        $crate::control::call::list(
            $path,
            $name,
            $summary,
            |
                it: $crate::control::Control,
                ($crate::control::calls::calls!(@pattern $($kind $arg),*), $crate::control::input::QueryParams(section)),
            | async move {
                it.$method($($arg,)* section).await
            },
        )
    };
    (@call $verb:ident $path:literal $name:literal $summary:literal $method:ident($($kind:ident $arg:ident),*) $give:ident $(($shown:expr))?) => {
        $crate::control::call::$verb(
            $path,
            $name,
            $summary,
            |it: $crate::control::Control, $crate::control::calls::calls!(@pattern $($kind $arg),*)| async move {
                it.$method($($arg),*).await$(.map($shown))?.map($crate::control::call::$give)
            },
        )
    };

    (@pattern) => { () };
    (@pattern id $arg:ident) => { $crate::control::input::PathId($arg) };
    (@pattern body $arg:ident) => { $crate::control::input::JsonBody($arg) };
    (@pattern query $arg:ident) => { $crate::control::input::QueryParams($arg) };
    (@pattern $kind:ident $arg:ident, $other_kind:ident $other:ident) => {
        (
            $crate::control::calls::calls!(@pattern $kind $arg),
            $crate::control::calls::calls!(@pattern $other_kind $other),
        )
    };
}
pub(super) use calls;
