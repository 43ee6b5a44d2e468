//! Holds nothing: the tests of this package are in `tests/front_door`.
#![forbid(unsafe_code)]
