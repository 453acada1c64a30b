/**
 * node bench/http-port.bench.ts [--runs 5] [--seconds 3]: what the HTTP port costs. Both adapters with the
 * least that can be admitted, beside a bare uWebSockets.js and a bare node:http doing the same work: 4 KB collected,
 * 4 KB answered, ten header fields. Requests per second of the server's CPU; needs wrk and taskset. The service above
 * the port is gateway.bench.ts.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listenNode } from "../gateway/adapters/http.node.ts";
import { loadUws } from "../gateway/adapters/http.uws.ts";
import type { Admission, Admit, Listen, Reply } from "../gateway/http.ts";
import {
  answering,
  cpuSeconds,
  machine,
  median,
  pinned,
  residentMb,
  type StartedService,
} from "./harness.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    serve: { type: "string" },
    port: { type: "string", default: "0" },
  },
});

const BYTES = 4_096;
const AT_ONCE = 64;
const ANSWER = Buffer.alloc(BYTES, "a");

const REPLY: Reply = { status: 200, headers: { "content-type": "application/json" }, body: ANSWER };
const ADMISSION: Admission = { limit_bytes: 1_000_000, answer: async () => REPLY };
const admit: Admit = () => ADMISSION;
const through = async (listen: Listen, port: number) => {
  await listen(admit, { host: "127.0.0.1", port, shared: false, failed: () => ({ status: 500 }) });
};

const SERVERS: Record<string, (port: number) => Promise<void>> = {
  "bare uWebSockets.js": async (port) => {
    const { App } = await import("uWebSockets.js");
    App()
      .any("/*", (answer) => {
        answer.onAborted(() => {});
        let body: Buffer | null = null;
        answer.onData((piece, last) => {
          body = body ? Buffer.concat([body, Buffer.from(piece)]) : Buffer.from(new Uint8Array(piece));
          if (last) answer.writeHeader("content-type", "application/json").end(ANSWER);
        });
      })
      .listen("127.0.0.1", port, () => {});
  },
  "port on uWebSockets.js": async (port) => through(await loadUws(), port),
  "bare node:http": async (port) => {
    const server = createServer((request, answer) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        Buffer.concat(pieces);
        answer.writeHead(200, { "content-type": "application/json", "content-length": BYTES }).end(ANSWER);
      });
    });
    server.listen(port, "127.0.0.1");
  },
  "port on node:http": (port) => through(listenNode, port),
};

const FIELDS = {
  accept: "application/json",
  "accept-encoding": "gzip, br",
  "accept-language": "en",
  authorization: `Bearer sk_${"x".repeat(43)}`,
  "cache-control": "no-cache",
  "content-type": "application/json",
  "user-agent": "bench/1",
  "x-request-id": "0198c0de-0000-7000-8000-000000000000",
};

interface Load {
  readonly per_cpu_s: number;
  readonly per_s: number;
}

function load(server: StartedService, port: number, script: string): Load {
  const before = cpuSeconds(server.pid);
  const wrk = ["-c", "0", "wrk", "-t1", `-c${AT_ONCE}`, `-d${values.seconds}s`, "-s", script];
  const text = execFileSync("taskset", [...wrk, `http://127.0.0.1:${port}/v1/search`]).toString();
  const used_s = cpuSeconds(server.pid) - before;
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`Cannot measure:\n${text}`);
  const requests = Number(/(\d+) requests in/.exec(text)![1]);
  return { per_cpu_s: requests / used_s, per_s: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)![1]) };
}

async function compare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-wrk-"));
  const script = join(folder, "post.lua");
  const lines = Object.entries(FIELDS).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  writeFileSync(script, [`wrk.method = "POST"`, `wrk.body = string.rep("b", ${BYTES})`, ...lines].join("\n"));
  const names = Object.keys(SERVERS);
  const servers = names.map((name, index) => {
    const port = 18_320 + index;
    return {
      name,
      port,
      loads: [] as Load[],
      started: pinned(1, ["bench/http-port.bench.ts", "--serve", name, "--port", String(port)]),
    };
  });
  for (const { port } of servers) await answering(`http://127.0.0.1:${port}/`);
  // Taken in turn, so that what else the machine does falls on all of them.
  for (let run = 0; run < Number(values.runs); run++)
    for (const server of servers) server.loads.push(load(server.started, server.port, script));
  const bare = (name: string) => servers.find((server) => name.endsWith(server.name.replace("bare ", "")))!;
  const rows = servers.map(({ name, loads, started }) => {
    const of = (key: keyof Load, from = loads) => median(from.map((one) => one[key]));
    return {
      name,
      per_cpu_s: Math.round(of("per_cpu_s")),
      per_s: Math.round(of("per_s")),
      share_of_bare: Number((of("per_cpu_s") / of("per_cpu_s", bare(name).loads)).toFixed(2)),
      resident_mb: Math.round(residentMb(started.pid)),
    };
  });
  await Promise.all(servers.map(({ started }) => started.stop()));
  rmSync(folder, { recursive: true });
  console.log(machine());
  console.table(rows);
}

await (values.serve === undefined ? compare() : SERVERS[values.serve]!(Number(values.port)));
