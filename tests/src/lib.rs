//! What the tests of all crates share. It depends on none of them, so that each can use it.
#![forbid(unsafe_code)]

use std::{
    env,
    path::{Path, PathBuf},
};

mod counters;
pub mod generated;
pub mod peers;
mod polling;
#[cfg(unix)]
pub mod proxy;
#[cfg(unix)]
pub mod stores;

pub use counters::counted;
pub use polling::until;

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies below the root").to_owned()
}

/// Returns where cargo has put a program of the workspace, which must have been built with the running test.
///
/// # Panics
///
/// When it is not there: a test of another package than the program's does not have it built.
pub fn program(name: &str) -> PathBuf {
    built(Path::new(name))
}

/// Returns where cargo has put an example, of `examples` or of the package under test.
///
/// # Panics
///
/// When it is not there: a test of another package than the example's does not have it built.
pub fn example(name: &str) -> PathBuf {
    built(&Path::new("examples").join(name))
}

fn built(name: &Path) -> PathBuf {
    let exe = env::current_exe().expect("a test knows itself");
    let folder = exe.ancestors().nth(2).expect("tests lie in `deps`, beside the programs");
    let found = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(found.is_file(), "{} is not built: `cargo test --workspace --no-run` does it", found.display());
    found
}
