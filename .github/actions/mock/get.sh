#!/usr/bin/env bash
# Tells the workflow where the program is: the one that PROGRAM names, a released one, or one that it builds.
# RELEASES is where releases are, if not at the project's own.
set -euo pipefail

found() {
  echo "program=$1" >>"$GITHUB_OUTPUT"
  exit
}
[ -z "${PROGRAM:-}" ] || found "$PROGRAM"

# A runner checks out the whole repository of an action.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
setting() { sed -n '/^\[workspace\.package\]/,/^\[/s/^'"$1"' = "\(.*\)"/\1/p' "$root/Cargo.toml"; }
version=$(setting version)
case $(uname -s)-$(uname -m) in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64) target=aarch64-unknown-linux-musl ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  *) target=x86_64-pc-windows-msvc ;;
esac
suffix=
[ "$target" != x86_64-pc-windows-msvc ] || suffix=.exe

work=$(mktemp -d)
name=shared-inbox-mock-$version-$target
from=${RELEASES:-$(setting repository)/releases/download}/v$version/$name.tar.gz
cd "$work"
if curl --silent --fail --location --remote-name "$from" && curl --silent --fail --location --remote-name "$from.sha256"; then
  shasum -a 256 -c "$name.tar.gz.sha256" || { echo "::error::$from is not what its checksum says"; exit 1; }
  tar -xzf "$name.tar.gz"
  found "$work/$name/shared-inbox-mock$suffix"
fi

echo "There is no release $version; building the program."
command -v cargo >/dev/null || { echo "::error::no release of shared-inbox-mock $version, and no Rust to build it"; exit 1; }
cargo build --locked --release --bin shared-inbox-mock --manifest-path "$root/Cargo.toml" --target-dir "$work/target"
found "$work/target/release/shared-inbox-mock$suffix"
