#!/bin/bash
# Draws the pictures of the guide's chapter "Seen while it runs", and prints its texts: docs/guide/seen.sh THALWEG FOLDER
# THALWEG is the command, FOLDER something to search that takes it some seconds.
set -e
[ $# = 2 ] || { sed -n 2,3p "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
there=$(mktemp -d)
trap 'rm -r "$there"' EXIT
export XDG_RUNTIME_DIR=$there
THALWEG_OBSERVE=1 "$1" run search --term fn --input "$2" > "$there/found" 2>&1 &
sleep 1
"$1" top search --plain
wait
for workers in 1 2; do
    "$1" run search --term fn --input "$2" --workers $workers --record "$there/$workers.jsonl" > "$there/found" 2>&1
done
"$1" report "$there/1.jsonl" "$there/2.jsonl" --svg "$here/src/seen/graph.svg"
for scheme in raft depth_first; do
    "$1" run incast --messages 4000 --scheme $scheme --trace "$there/$scheme.json" > "$there/found" 2>&1
    "$1" report "$there/$scheme.json" --svg "$here/src/seen/$scheme.svg"
done
