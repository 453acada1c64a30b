#!/bin/bash
# Makes, in an empty folder, what documents.ts runs: a small Debian ("system") that has PostgreSQL with the DocumentDB
# extension, and a PostgreSQL data folder in which the extension exists ("template").
#
# Debian's testing release has the extension; it needs a newer libc than the stable ones, hence a system of its own.
# Nothing is installed on the machine itself. Runs as root, in mount and PID namespaces of its own (install.ts): its
# mounts end with it, however it ends, so the folder can always be deleted.
#
#   documentdb-install.sh FOLDER CONFIGURATION
set -euo pipefail
folder=$1 configuration=$2
release=forky
system=$folder/system template=$folder/template tools=$folder/tools
inside=/var/lib/trawl
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# The tool and the keys are unpacked, not installed; whatever mirror this machine uses is used.
mkdir -p "$tools"
cd "$tools"
download() { apt-get download debootstrap debian-archive-keyring; }
download || { apt-get update || true; download; }
for package in *.deb; do dpkg -x "$package" .; done
mirror=$(apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
  awk '$1 == "Debian" && $2 !~ /-/ { uri = $3 } END { print uri }') # none found: debootstrap's own choice

# The script of "sid" serves every newer release; Debian 12's debootstrap does not know this one by name.
DEBOOTSTRAP_DIR=$tools/usr/share/debootstrap "$tools/usr/sbin/debootstrap" --variant=minbase \
  --keyring="$tools/usr/share/keyrings/debian-archive-keyring.gpg" \
  "$release" "$system" "$mirror" "$tools/usr/share/debootstrap/scripts/sid"
cd "$folder"
rm -rf "$tools"

mountpoint -q "$system/proc" || mount -t proc proc "$system/proc" # a package's script insists on it
mkdir -p "$system/dev/shm" "$system/etc/postgresql-common" "$system$inside"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
echo 'create_main_cluster = false' > "$system/etc/postgresql-common/createcluster.conf"
echo 'Acquire::Check-Valid-Until "false";' > "$system/etc/apt/apt.conf.d/90mirror-may-be-behind"
printf '#!/bin/sh\nexit 101\n' > "$system/usr/sbin/policy-rc.d" # no package starts a service here
chmod +x "$system/usr/sbin/policy-rc.d"
chroot "$system" apt-get update
chroot "$system" apt-get install -y --no-install-recommends postgresql-18-documentdb
chroot "$system" apt-get clean
rm -rf "$system"/var/lib/apt/lists/* "$system"/usr/share/{doc,man,locale}

mkdir -p "$template"
mount --bind "$template" "$system$inside"
chroot "$system" chown postgres:postgres "$inside"
postgres() { chroot --userspec=postgres:postgres "$system" "/usr/lib/postgresql/18/bin/$1" "${@:2}"; }
postgres initdb -D "$inside" -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync
cp "$configuration" "$template/postgresql.conf"
postgres pg_ctl -D "$inside" -l "$inside/log" -w start
postgres psql -h "$inside" -U postgres -qc 'create extension documentdb cascade' postgres
postgres pg_ctl -D "$inside" -m fast -w stop
rm "$template/log"

chroot "$system" dpkg-query -W -f '${Version}' postgresql-18-documentdb > "$folder/version"
