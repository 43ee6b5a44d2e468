#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "redis", feature = "postgres"))]
mod guard_settings;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod once_records;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;

#[cfg(all(doctest, feature = "redis", feature = "postgres"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "postgres")]
pub use self::postgres::{Postgres, PostgresError, PostgresGuard, PostgresOnceKeys};
#[cfg(feature = "redis")]
pub use self::redis::{
    LimiterBuilder, Redis, RedisBuilder, RedisGuard, RedisLimiter, RedisOnceKeys, StoreError,
};
