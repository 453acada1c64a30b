/**
 * Documents: a real mongod where there is one, else FerretDB over PostgreSQL with the DocumentDB extension.
 * Why these, and what they do not do: ops/decisions/0010-engines.md.
 */
import { copyFile, cp, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { firstWords } from "./adapters/process.ts";
import type { Program, Settings } from "./engine.ts";

/**
 * Namespaces of its own: its mounts are visible to no other process and end with it, and when its first process dies, everything
 * in it dies. Killing `unshare` kills that first process.
 */
export const APART = ["unshare", "--mount", "--ipc", "--pid", "--fork", "--kill-child=KILL"] as const;
export const CONFIGURATION = fileURLToPath(new URL("documentdb.conf", import.meta.url));
const RUN = fileURLToPath(new URL("documentdb-run.sh", import.meta.url));

const OP_MSG = 2013;

/** No retried writes: neither is a replica set, and FerretDB has no transactions to retry in. */
const settings = (port: number): Settings => ({
  TRAWL_DOCUMENTS: `mongodb://127.0.0.1:${port}/trawl?retryWrites=false`,
});

export function mongod(binary: string, version: string): Program {
  return {
    name: "documents",
    title: `mongod ${version}`,
    prepare: async (data) => {
      await mkdir(data);
    },
    command: (data, port) => {
      const address = ["--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket"];
      return [binary, "--dbpath", data, ...address];
    },
    answers: pings,
    settings,
  };
}

/** `documentdb` is what documentdb-install.sh made: a Debian system, and a template of a data folder. */
export function ferretdb(binary: string, documentdb: string, version: string): Program {
  return {
    name: "documents",
    title: `FerretDB ${version}`,
    prepare: async (data) => {
      await mkdir(`${data}/ferretdb`, { recursive: true });
      await cp(`${documentdb}/template`, `${data}/postgresql`, { recursive: true, preserveTimestamps: true });
      await copyFile(CONFIGURATION, `${data}/postgresql/postgresql.conf`); // the template's may be older
    },
    command: (data, port) => [...APART, "bash", RUN, `${documentdb}/system`, data, String(port), binary],
    answers: pings,
    settings,
  };
}

/** {ping: 1, $db: "admin"} in an OP_MSG, and whether an OP_MSG comes back. */
async function pings(port: number): Promise<boolean> {
  const body = Buffer.from("\x10ping\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0", "latin1");
  const head = Buffer.alloc(25); // length, request, response to, opcode, flags, kind of section, length of document
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(1, 4);
  head.writeInt32LE(OP_MSG, 12);
  head.writeInt32LE(4 + body.length, 21);
  const answer = await firstWords(port, Buffer.concat([head, body]));
  return answer.length > 16 && answer.readInt32LE(12) === OP_MSG;
}
