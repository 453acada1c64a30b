#!/usr/bin/env bash
# earlier-version.sh FOLDER: the program of version 0.1.0 and the packages it was written for, out of this repository's history, for
# test/scenarios/upgrade.test.ts. The commit is the last that wrote format 2, the oldest that is migrated (ops/migrations.ts).
set -euo pipefail
commit=d4b23b74
folder=${1:?name a folder}
[ -d "$folder/node_modules/undici" ] && exit 0
cd "$(dirname "$0")/../.."
mkdir -p "$folder"
git archive "$commit" | tar x -C "$folder"
# The Node that runs the tests runs it, too.
npm ci --prefix "$folder" --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund --silent
