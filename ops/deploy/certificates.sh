#!/usr/bin/env bash
# certificates.sh FOLDER: an authority of your own, and certificates by it for NATS and MongoDB of ops/deploy/compose.yaml, good for ten years.
# What is there stays. Containers read the files as users of their own, so the folder alone keeps other users of this machine out.
set -euo pipefail
folder=${1:?name a folder}
days=3650
mkdir -p -m 0700 "$folder"
cd "$folder"

[ -f ca.pem ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$days" -subj "/CN=Trawl engines" \
  -addext "keyUsage=critical,keyCertSign,cRLSign" -keyout ca-key.pem -out ca.pem 2>/dev/null

for name in nats mongodb; do
  [ -f "$name.pem" ] && continue
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$name-key.pem" -out "$name.csr" 2>/dev/null
  openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days "$days" -out "$name.pem" \
    -extfile <(printf 'subjectAltName=DNS:%s,DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' "$name") 2>/dev/null
  cat "$name.pem" "$name-key.pem" > "$name-both.pem"
  rm "$name.csr"
done
chmod 0644 ./*.pem
chmod 0600 ca-key.pem
