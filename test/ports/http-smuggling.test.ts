/**
 * Request smuggling: bytes that two HTTP parsers may divide into requests differently (RFC 9112 section 11.2). Each is sent to
 * both adapters directly and through HAProxy and nginx, which keep their connections to the adapter for other clients.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import { loadUws } from "../../gateway/adapters/http.uws.ts";
import type { Head, Listen, Listening } from "../../gateway/http.ts";
import { freePort } from "../harness/free-port.ts";
import { findProgram, type Program, program } from "../harness/programs.ts";
import { application } from "../gateway/adapters/application.ts";
import { converse } from "../gateway/adapters/wire.ts";

const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: trawl.test\r\n\r\n";
const post = (fields: string, body: string): string =>
  `POST /echo HTTP/1.1\r\nHost: trawl.test\r\n${fields}\r\n${body}`;
const chunked = (body: string): string => post("Transfer-Encoding: chunked\r\n", body);
const LENGTH = `Content-Length: ${5 + SMUGGLED.length}\r\n`;

/** No strict reading of these bytes has the smuggled request in it. */
const CASES: readonly (readonly [string, string])[] = [
  ["a bare line feed behind the size of a chunk", chunked(`3\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["bare line feeds everywhere", chunked(`3\nabc\n0\n\n${SMUGGLED}`)],
  ["a bare line feed behind the last chunk", chunked(`3\r\nabc\r\n0\n\r\n${SMUGGLED}`)],
  ["two other bytes for the line end behind a chunk", chunked(`3\r\nabcXX0\r\n\r\n${SMUGGLED}`)],
  ["a chunk longer than its size", chunked(`3\r\nabcdef\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a chunk without a size", chunked(`\r\n\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a negative size", chunked(`-3\r\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a size with a prefix", chunked(`0x3\r\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a size beyond 64 bits", chunked(`10000000000000003\r\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a line feed in a chunk extension", chunked(`3;a\nb\r\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a size that is no number", chunked(`g\r\nabc\r\n0\r\n\r\n${SMUGGLED}`)],
  ["a length beside chunks", post(`${LENGTH}Transfer-Encoding: chunked\r\n`, `0\r\n\r\n${SMUGGLED}`)],
  ["chunks beside a length", post(`Transfer-Encoding: chunked\r\n${LENGTH}`, `0\r\n\r\n${SMUGGLED}`)],
  ["a coding before chunked", post("Transfer-Encoding: gzip, chunked\r\n", `0\r\n\r\n${SMUGGLED}`)],
  ["a coding behind chunked", post("Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${SMUGGLED}`)],
  ["chunked in another name", post(`Transfer-Encoding: xchunked\r\n`, `0\r\n\r\n${SMUGGLED}`)],
  ["chunked in quotes", post(`Transfer-Encoding: "chunked"\r\n`, `0\r\n\r\n${SMUGGLED}`)],
  ["a space before the colon", post(`Transfer-Encoding : chunked\r\n${LENGTH}`, `0\r\n\r\n${SMUGGLED}`)],
  ["a vertical tab before chunked", post("Transfer-Encoding:\x0bchunked\r\n", `0\r\n\r\n${SMUGGLED}`)],
  ["a folded field", post("X-A: b\r\n Transfer-Encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`)],
  [
    "a field behind a bare carriage return",
    post(`X-A: b\rTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${SMUGGLED}`),
  ],
  ["a NUL in a field", post("X-A: b\0\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`)],
  ["two lengths", post(`Content-Length: 0\r\n${LENGTH}`, `12345${SMUGGLED}`)],
  ["two lengths in one field", post(`Content-Length: 5, ${5 + SMUGGLED.length}\r\n`, `12345${SMUGGLED}`)],
  ["a length with a sign", post("Content-Length: +5\r\n", `12345${SMUGGLED}`)],
  ["a length with a space in it", post("Content-Length: 5 0\r\n", `12345${SMUGGLED}`)],
  ["a length in hexadecimal", post("Content-Length: 0x5\r\n", `12345${SMUGGLED}`)],
];
/** The smuggled bytes are the body, whatever the route does with it. */
const BODIES: readonly (readonly [string, string])[] = [
  ["a body that looks like a request", post(`Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED)],
  [
    "a body that looks like a request, refused by its head",
    `POST /refused HTTP/1.1\r\nHost: trawl.test\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  ],
  [
    "a body that looks like a request, of a GET",
    post(`Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED).replace("POST /echo", "GET /json"),
  ],
];

interface Front {
  readonly heads: Head[];
  readonly listening: Listening;
}

async function front(listen: Listen): Promise<Front> {
  const app = application();
  const heads: Head[] = [];
  const listening = await listen(
    (head, abort) => {
      heads.push(head);
      return app.admit(head, abort);
    },
    { host: "127.0.0.1", port: 0, shared: false, failed: app.failed },
  );
  return { heads, listening };
}

const folder = mkdtempSync(join(tmpdir(), "trawl-smuggling-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Proxy {
  readonly name: string;
  readonly path: string | null;
  readonly configuration: (port: number, server: number) => string;
  readonly words: (file: string) => readonly string[];
}

/** Each adds X-Via to what it forwards, and shares its connections to the server between clients. */
const PROXIES: readonly Proxy[] = [
  {
    name: "HAProxy",
    path: findProgram("haproxy"),
    configuration: (port, server) => `
defaults
  mode http
  timeout connect 2s
  timeout client 3s
  timeout server 3s
  http-reuse always
listen front
  bind 127.0.0.1:${port}
  http-request set-header X-Via haproxy
  server one 127.0.0.1:${server}
`,
    words: (file) => ["-db", "-f", file],
  },
  {
    name: "nginx",
    path: findProgram("nginx"),
    // Without buffering, so that it passes chunks on while they arrive.
    configuration: (port, server) => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`).join("\n  ")}
  upstream server { server 127.0.0.1:${server}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Via nginx;
      proxy_request_buffering off;
    }
  }
}
`,
    words: (file) => ["-c", file, "-p", folder],
  },
];

describe.each([
  ["uWebSockets.js", await loadUws()],
  ["node:http", listenNode],
] as const)("request smuggling on %s", (adapter, listen) => {
  test.each(CASES)("directly: %s", async (_, bytes) => {
    const { heads, listening } = await front(listen);
    const { connection, answers } = await converse(listening.port, [bytes], { answers: 0, quiet_ms: 400 });
    await listening.close(0);
    expect(
      heads.filter(({ path }) => path !== "/echo").map(({ method, path }) => `${method} ${path}`),
    ).toEqual([]);
    expect(answers.length).toBeLessThanOrEqual(1);
    // Bytes that uWebSockets.js takes for the beginning of a head or of a chunk wait until their time is over.
    const mayWait = adapter === "uWebSockets.js" && answers.length === 0;
    expect(mayWait ? "closed" : connection).toBe("closed");
  });

  test.each(BODIES)("directly: %s", async (_, bytes) => {
    const { heads, listening } = await front(listen);
    const { answers } = await converse(listening.port, [bytes], { answers: 1, quiet_ms: 100 });
    await listening.close(0);
    expect(answers).toHaveLength(1);
    expect(heads).toHaveLength(1);
  });

  test.each([
    ["a name and a value", chunked("3;name=value\r\nabc\r\n0\r\n\r\n")],
    ["an extension of the last chunk", chunked("3\r\nabc\r\n0;last\r\n\r\n")],
  ])("a valid chunk extension is answered: %s", async (_, bytes) => {
    const { listening } = await front(listen);
    const { answers } = await converse(listening.port, [bytes], { answers: 1, quiet_ms: 0 });
    await listening.close(0);
    // uWebSockets.js knows no extensions.
    expect(answers.map(({ status }) => status)).toEqual([adapter === "node:http" ? 200 : 400]);
  });

  test("a request without a Host field reaches no handler", async () => {
    // uWebSockets.js waits for more of such a head, until the server closes the connection after 10 s.
    const expected = adapter === "node:http" ? [400] : [];
    const { heads, listening } = await front(listen);
    const said = await converse(listening.port, ["GET /echo HTTP/1.1\r\n\r\n"], {
      answers: expected.length,
      quiet_ms: 100,
    });
    await listening.close(0);
    expect(said.answers.map(({ status }) => status)).toEqual(expected);
    expect(heads).toEqual([]);
  });

  describe.each(PROXIES)("behind $name", ({ name, path, configuration, words }) => {
    let server: Front | null = null;
    let proxy: Program | null = null;
    let port = 0;
    beforeAll(async () => {
      if (path === null) return;
      server = await front(listen);
      port = await freePort();
      const file = join(folder, `${name}-${port}.conf`);
      writeFileSync(file, configuration(port, server.listening.port));
      proxy = await program(path, words(file), port);
    });
    afterAll(async () => {
      await proxy?.close();
      await server?.listening.close(0);
    });

    test.skipIf(path === null)(
      "nothing arrives that it did not send, and others get their own answers",
      async () => {
        for (const [title, bytes] of [...CASES, ...BODIES]) {
          await converse(port, [bytes], { answers: 1, quiet_ms: 0 });
          const victim = await fetch(`http://127.0.0.1:${port}/json`);
          expect([title, victim.status, await victim.json()]).toEqual([title, 200, { a: 1 }]);
        }
        expect(
          server!.heads.filter(({ headers }) => !headers.has("x-via")).map(({ path: at }) => at),
        ).toEqual([]);
        expect(server!.heads.length).toBeGreaterThanOrEqual(CASES.length);
      },
    );
  });
});
