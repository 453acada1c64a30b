#!/bin/bash
# Runs PostgreSQL and FerretDB until one of them ends. It is the first process of its own PID, mount and IPC
# namespaces (documents.ts): the mounts below exist for nobody else, and whoever kills it kills everything in it.
#
#   documentdb-run.sh SYSTEM DATA PORT FERRETDB
set -euo pipefail
system=$1 data=$2 port=$3 ferretdb=$4
inside=/var/lib/trawl
postgres() { chroot --userspec=postgres:postgres "$system" "$@"; }

mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
mount --bind "$data/postgresql" "$system$inside"
chroot "$system" chown -R postgres:postgres "$inside"
# Of a run that was killed. Its process number may belong to someone else by now, and would keep PostgreSQL waiting.
rm -f "$data/postgresql/postmaster.pid"

# Not through the function: a background function would be one more shell in between.
chroot --userspec=postgres:postgres "$system" /usr/lib/postgresql/18/bin/postgres -D "$inside" &
postgresql=$!
for _ in {1..600}; do
  postgres /usr/lib/postgresql/18/bin/pg_isready -q -h "$inside" && break
  kill -0 $postgresql
  sleep 0.1
done

DO_NOT_TRACK=1 "$ferretdb" --telemetry=disable --no-auth --log-level=error \
  --listen-addr="127.0.0.1:$port" --debug-addr=- --state-dir="$data/ferretdb" \
  --postgresql-url="postgres://postgres@/postgres?host=$system$inside&pool_max_conns=50" &

wait -n
