//! Holds nothing: the tests of this package are in `tests/stores`.
#![forbid(unsafe_code)]
