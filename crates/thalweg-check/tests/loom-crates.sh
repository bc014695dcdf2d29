#!/usr/bin/env bash
# Runs the loom tests of five published crates under thalweg-check, in a temporary directory: one line of each crate's Cargo.toml is changed,
# the one that names loom. With `loom` as the argument nothing is changed, and loom runs them, for comparison.
#
#   crates/thalweg-check/tests/loom-crates.sh [loom] [SECONDS]      SECONDS per test, 20 unless given
#
# Needs the registry. Prints each test with its executions and its time.
set -euo pipefail
with=thalweg
if [ "${1:-}" = loom ]; then with=loom; shift; fi
seconds=${1:-20}
here=$(cd "$(dirname "$0")/.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"

crates='st3-0.4.1 diatomic-waker-0.2.3 multishot-0.3.2 async-event-0.2.1 tachyonix-0.3.1'
mkdir -p fetch/src loom/src
touch fetch/src/lib.rs
{
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
    for crate in $crates; do printf '%s = "=%s"\n' "${crate%-*}" "${crate##*-}"; done
} > fetch/Cargo.toml
cargo vendor --quiet --versioned-dirs --manifest-path fetch/Cargo.toml vendor > /dev/null
for crate in $crates; do
    cp -r "vendor/$crate" .
    if [ "$with" = thalweg ]; then
        # The one line: where loom is from.
        sed -i '/^\[target\..*\.loom\]/,/^$/ s|^version = .*|path = "../loom"|' "$crate/Cargo.toml"
    fi
done
printf '[package]\nname = "loom"\nversion = "0.7.99"\nedition = "2024"\n[features]\nfutures = []\n[dependencies]\nthalweg-check = { path = "%s" }\n' \
    "$here" > loom/Cargo.toml
echo 'pub use thalweg_check::std::*;' > loom/src/lib.rs
{
    printf '[workspace]\nresolver = "2"\nmembers = ['
    for crate in $crates; do printf '"%s", ' "$crate"; done
    printf ']\n'
} > Cargo.toml

export RUSTFLAGS='--cfg st3_loom --cfg diatomic_waker_loom --cfg multishot_loom --cfg async_event_loom --cfg tachyonix_loom'
export LOOM_LOG=1 LOOM_MAX_DURATION=$seconds
# loom's own way of not taking for ever.
if [ "$with" = loom ]; then export LOOM_MAX_PREEMPTIONS=3; unset LOOM_LOG; fi
for crate in $crates; do
    echo "== $crate"
    cargo test --release --package "${crate%-*}" --lib --tests -- --nocapture --test-threads 1 2> /dev/null |
        grep -E '^test |executions|^test result' || echo "a test of $crate fails: run it by hand"
done
