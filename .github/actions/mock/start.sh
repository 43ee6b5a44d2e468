#!/usr/bin/env bash
# Starts the mock in the background, waits until it is ready, and tells the workflow where it is and with which keys.
set -euo pipefail

work=$(mktemp -d)
# One flag on each line, so that a value may have spaces.
flags=()
while IFS= read -r flag; do [ -z "$flag" ] || flags+=("$flag"); done <<<"${FLAGS:-}"
"$PROGRAM" --listen "$LISTEN" --ready-file "$work/ready.json" ${flags[@]+"${flags[@]}"} >"$work/log" 2>&1 &
pid=$!

for _ in $(seq 300); do
  [ -s "$work/ready.json" ] && break
  if ! kill -0 "$pid" 2>/dev/null; then
    cat "$work/log" >&2
    echo "::error::shared-inbox-mock did not start"
    exit 1
  fi
  sleep 0.1
done
[ -s "$work/ready.json" ] || { cat "$work/log" >&2; echo "::error::shared-inbox-mock was not ready after 30 seconds"; exit 1; }

field() { sed -E "s/.*\"$1\": *\"([^\"]*)\".*/\1/" <(tr -d '\n' <"$work/ready.json"); }
{
  echo "base-url=$(field base_url)"
  echo "mcp-url=$(field mcp_url)"
  echo "control-url=$(field control_url)"
  echo "console-url=$(field console_url)"
  echo "live-key=$(field live)"
  echo "test-key=$(field test)"
  echo "pid=$pid"
} >>"$GITHUB_OUTPUT"
{
  echo "SHARED_INBOX_BASE_URL=$(field base_url)"
  echo "SHARED_INBOX_API_KEY=$(field test)"
} >>"$GITHUB_ENV"
echo "shared-inbox-mock is ready at $(field console_url)"
