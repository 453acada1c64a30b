/**
 * A domain with a certificate, and a time stamp authority (RFC 3161) that answers over HTTP, both by openssl: what WACZ files are signed
 * with. Only with openssl.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findProgram } from "./programs.ts";

const program = findProgram("openssl");
export const has_openssl = program !== null;
const run = promisify(execFile);

/** In a folder, in which its files are named without a path. */
export const openssl = (cwd: string, ...words: string[]): Promise<{ readonly stdout: string }> =>
  run(program!, words, { cwd });

/** EC on P-256, or RSA. */
export async function makeKey(folder: string, name: string, type: "ec" | "rsa" = "ec"): Promise<void> {
  const options = type === "ec" ? ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["RSA"];
  await openssl(folder, "genpkey", "-algorithm", ...options, "-out", `${name}.key`);
}

/** A certificate of the key `name`, by the key and certificate `issuer`; without one it is a root. */
export async function certify(
  folder: string,
  name: string,
  { subject, issuer, extensions }: { subject: string; issuer?: string; extensions: readonly string[] },
): Promise<void> {
  const extension_file = `${name}.extensions`;
  writeFileSync(join(folder, extension_file), `${extensions.join("\n")}\n`);
  await openssl(folder, "req", "-new", "-key", `${name}.key`, "-subj", subject, "-out", `${name}.csr`);
  const by = issuer
    ? ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial"]
    : ["-signkey", `${name}.key`];
  const words = ["-req", "-in", `${name}.csr`, ...by, "-days", "5", "-extfile", extension_file];
  await openssl(folder, "x509", ...words, "-out", `${name}.pem`);
}

export const joinFiles = (folder: string, name: string, ...parts: string[]): void =>
  writeFileSync(join(folder, name), parts.map((part) => readFileSync(join(folder, part), "utf8")).join(""));

export const DOMAIN = "archive.example";
const AUTHORITY = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"] as const;

/** `chain.pem` and `domain.key` for DOMAIN: a root with an RSA key, and an authority below it. */
export async function makeDomain(folder: string): Promise<void> {
  for (const [name, type] of [
    ["root", "rsa"],
    ["middle", "ec"],
    ["domain", "ec"],
  ] as const)
    await makeKey(folder, name, type);
  await certify(folder, "root", { subject: "/CN=Root", extensions: AUTHORITY });
  await certify(folder, "middle", { subject: "/CN=Middle", issuer: "root", extensions: AUTHORITY });
  const extensions = [`subjectAltName=DNS:${DOMAIN}`];
  await certify(folder, "domain", { subject: `/CN=${DOMAIN}`, issuer: "middle", extensions });
  joinFiles(folder, "chain.pem", "domain.pem", "middle.pem", "root.pem");
}

/** `refuse`: a response that grants nothing. `repeat`: the last one, of another request. `forge`: its signature is wrong. */
type Behaviour = "stamp" | "refuse" | "repeat" | "forge" | "fail" | "silent" | "endless";

export interface TimeStampAuthority {
  readonly url: string;
  readonly requests: () => number;
  /** From now on. */
  readonly behave: (behaviour: Behaviour) => void;
  readonly close: () => Promise<void>;
}

const configuration = (digests: string): string => `
[tsa]
default_tsa = authority
[authority]
serial = stamps.serial
signer_cert = stamps.pem
certs = stamps-root.pem
signer_key = stamps.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = ${digests}
`;

/** Its root is `stamps-root.pem` in the folder. */
export async function timeStampAuthority(folder: string): Promise<TimeStampAuthority> {
  await makeKey(folder, "stamps-root");
  await makeKey(folder, "stamps");
  await certify(folder, "stamps-root", { subject: "/CN=Stamps Root", extensions: AUTHORITY });
  const extensions = ["extendedKeyUsage=critical,timeStamping"];
  await certify(folder, "stamps", { subject: "/CN=Stamps", issuer: "stamps-root", extensions });
  writeFileSync(join(folder, "stamp.cnf"), configuration("sha256"));
  writeFileSync(join(folder, "refuse.cnf"), configuration("sha512"));
  writeFileSync(join(folder, "stamps.serial"), "01\n");
  let behaviour: Behaviour = "stamp";
  let requests = 0;

  async function responseTo(query: Buffer): Promise<Buffer> {
    if (behaviour !== "repeat") {
      writeFileSync(join(folder, "query.tsq"), query);
      const config = behaviour === "refuse" ? "refuse.cnf" : "stamp.cnf";
      const words = ["-config", config, "-queryfile", "query.tsq", "-out", "response.tsr"];
      await openssl(folder, "ts", "-reply", ...words);
    }
    return readFileSync(join(folder, "response.tsr"));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const query = Buffer.concat(await request.toArray());
    const isAsked = request.headers["content-type"] === "application/timestamp-query";
    if (behaviour === "fail" || !isAsked) return void response.writeHead(500).end();
    const body = behaviour === "endless" ? Buffer.alloc(100_000) : await responseTo(query);
    // The signature is the end of a response.
    if (behaviour === "forge") body[body.length - 1]! ^= 1;
    response.writeHead(200, { "Content-Type": "application/timestamp-reply" });
    response.end(body);
  }

  // Requests are answered one at a time: openssl counts in a file.
  let last: Promise<void> = Promise.resolve();
  const server = createServer((request, response) => {
    requests++;
    if (behaviour === "silent") return;
    last = last.then(() => answer(request, response)).catch(() => void response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsr`,
    requests: () => requests,
    behave: (next) => void (behaviour = next),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export const temporaryFolder = (): { readonly path: string; readonly remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), "trawl-signing-"));
  return { path, remove: () => rmSync(path, { recursive: true }) };
};
