/**
 * node bench/clients.bench.ts [--seconds 220] [--beside CLIENTS] [--python PATH]: what an operation through each client takes beside curl and beside the library that the client
 * is made of, at one running service: a page from the cache, real pages (`web.ts`, /p/N) that are fetched each time, the same of a site that answers after 200 ms, and the results
 * of a job of 5,000 items, read in one stream. A process of Node makes the calls by `@trawl/client` and by `fetch` with `JSON.parse` in pairs, a process of Python those by
 * `trawl-client` and by httpx with `json.loads`, in an order that is turned round in each pair: what else the machine does meets both alike. curl does its calls twice: in one process
 * with one warm connection (`time_total`), and as a process a call from its start to its end. curl asks for the content coding that the clients ask for, unpacks it, and reads no answer.
 * Every round is a new process of each, in turn and then the other way round, and begins with requests that no figure has; rounds are begun until the seconds are over. CPU time is
 * that of the process during its calls, so the server's is in none. The service has core 1, all others core 0. `--python`: one that has httpx and pydantic. `--beside`: the folder
 * `clients` of another checkout, which is measured in turn with this one.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { answering, machine, median, pinned, type Service, service } from "./harness.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "220" },
    python: { type: "string", default: "/opt/python-client/bin/python" },
    clients: { type: "string", default: new URL("../clients", import.meta.url).pathname },
    beside: { type: "string" },
    url: { type: "string" },
    asks: { type: "string" },
    slow: { type: "boolean", default: false },
  },
});

type Body = { readonly url: string } & Readonly<Record<string, unknown>>;
/** An operation: a page, or the results of a job that has ended. */
type Ask =
  | { readonly kind: "fetch"; readonly body: Body }
  | { readonly kind: "results"; readonly job_id: string };
interface Asks {
  /** The first requests of a process, which no figure has: a client's code is hot after them. */
  readonly warm: readonly Ask[];
  /** An even number: two of them are a pair. */
  readonly measured: readonly Ask[];
}
/** Times of each operation. */
interface Timed {
  readonly ms: readonly number[];
  readonly cpu_ms: readonly number[];
}
/** Times that a process measured, by the client or library that made the calls. */
type Measured = Readonly<Record<string, Timed>>;

const WARM = 150;
const SLOW_MS = 200;
const ITEMS = 5_000;
/** Calls of a round by a process of curl each. */
const PROCESSES = 6;
const BESIDE = " (beside)";

const PYTHON = `
import json, resource, sys, time
import httpx
from trawl_client import Trawl
url, asks = sys.argv[1], json.load(open(sys.argv[2]))
key = sys.stdin.read()
trawl = Trawl(url=url, key=key)
plain = httpx.Client(headers={"authorization": "Bearer " + key}, timeout=60)
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000
def read(job_id):
    with plain.stream("GET", url + "/v1/jobs/" + job_id + "/results", params={"follow": "true"}) as answer:
        # httpx ends a line at U+2028, too, which texts of pages have.
        count, rest = 0, b""
        for piece in answer.iter_bytes():
            *lines, rest = (rest + piece).split(b"\\n")
            count += sum(1 for line in lines if line and json.loads(line))
        return count
def by_client(kind, body=None, job_id=None):
    return trawl.fetch(**body) if kind == "fetch" else sum(1 for _ in trawl.job(job_id))
def by_httpx(kind, body=None, job_id=None):
    return json.loads(plain.post(url + "/v1/fetch", json=body).content) if kind == "fetch" else read(job_id)
makers = [("trawl-client", by_client), ("httpx", by_httpx)]
for ask in asks["warm"]:
    for _, do in makers:
        do(**ask)
measured = {name: {"ms": [], "cpu_ms": []} for name, _ in makers}
for n, ask in enumerate(asks["measured"]):
    name, do = makers[(n + n // 2) % 2]
    used, began = cpu(), time.perf_counter()
    do(**ask)
    measured[name]["ms"].append((time.perf_counter() - began) * 1000)
    measured[name]["cpu_ms"].append(cpu() - used)
print(json.dumps(measured))
`;

/** The other program of this file. */
async function ask(url: string, { warm, measured }: Asks): Promise<Measured> {
  const key = readFileSync(0, "utf8");
  const { Trawl } = (await import(
    join(values.clients, "typescript/src/client.ts")
  )) as typeof import("../clients/typescript/src/client.ts");
  const trawl = new Trawl({ url, key });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const byClient = async (asked: Ask): Promise<unknown> => {
    if (asked.kind === "results") {
      for await (const _ of trawl.job(asked.job_id));
      return null;
    }
    const { url: page, ...options } = asked.body;
    return trawl.fetch(page, options);
  };
  const byFetch = async (asked: Ask): Promise<unknown> => {
    if (asked.kind === "fetch") {
      const body = JSON.stringify(asked.body);
      return JSON.parse(await (await fetch(`${url}/v1/fetch`, { method: "POST", headers, body })).text());
    }
    const answer = await fetch(`${url}/v1/jobs/${asked.job_id}/results?follow=true`, { headers });
    let rest = "";
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "") JSON.parse(line);
    }
    return null;
  };
  const makers = [
    { name: "@trawl/client", send: byClient, ms: [] as number[], cpu_ms: [] as number[] },
    { name: "fetch", send: byFetch, ms: [] as number[], cpu_ms: [] as number[] },
  ];
  for (const each of warm) for (const { send } of makers) await send(each);
  for (const [n, each] of measured.entries()) {
    const { send, ms, cpu_ms } = makers[(n + Math.floor(n / 2)) % 2]!;
    const before = process.cpuUsage();
    const began_ms = performance.now();
    await send(each);
    ms.push(performance.now() - began_ms);
    const { user, system } = process.cpuUsage(before);
    cpu_ms.push((user + system) / 1_000);
  }
  return Object.fromEntries(makers.map(({ name, ms, cpu_ms }) => [name, { ms, cpu_ms }]));
}

/** Runs curl with each of the configurations, a process each, and prints of each its wall and CPU milliseconds and its output. */
const TIMED = `import json,sys,time,subprocess as s,resource as r
def cpu():
    u=r.getrusage(r.RUSAGE_CHILDREN)
    return (u.ru_utime+u.ru_stime)*1000
done=[]
for text in json.load(sys.stdin):
    used,began=cpu(),time.perf_counter()
    out=s.run(["curl","--config","-"],input=text.encode(),stdout=s.PIPE,check=True).stdout.decode()
    done.append([(time.perf_counter()-began)*1000,cpu()-used,out])
print(json.dumps(done))`;

type Configuration = readonly (readonly string[])[];

function runCurl(configurations: readonly Configuration[]): readonly [number, number, string][] {
  const input = configurations.map((requests) =>
    requests.map((lines) => [...lines, "compressed", "silent"].join("\n")).join("\nnext\n"),
  );
  const words = ["-c", "0", values.python, "-c", TIMED];
  return JSON.parse(
    execFileSync("taskset", words, { input: JSON.stringify(input), maxBuffer: 2 ** 28 }).toString(),
  );
}

function askByCurl({ url, key }: Service, { warm, measured }: Asks): Measured {
  const one = (asked: Ask): readonly string[] => [
    `header = "Authorization: Bearer ${key}"`,
    'header = "Accept-Encoding: gzip, deflate"',
    'output = "/dev/null"',
    'write-out = "%{http_code} %{num_connects} %{time_total}\\n"',
    ...(asked.kind === "results"
      ? [`url = "${url}/v1/jobs/${asked.job_id}/results?follow=true"`]
      : [
          `url = "${url}/v1/fetch"`,
          'header = "Content-Type: application/json"',
          `data = ${JSON.stringify(JSON.stringify(asked.body))}`,
        ]),
  ];
  const half = measured.length / 2;
  const alone = measured.slice(half, half + PROCESSES).map((each) => [one(each)]);
  const [[, cpu_ms, text], ...processes] = runCurl([
    [...warm, ...measured.slice(0, half)].map(one),
    ...alone,
  ]) as [[number, number, string], ...[number, number, string][]];
  const answers = text
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
  const figures = answers.slice(warm.length);
  if (figures.length !== half || figures.some(([status, connects]) => status !== 200 || connects !== 0))
    throw new Error(`Cannot measure curl: ${text.slice(-200)}`);
  if (processes.some(([, , out]) => !out.startsWith("200 ")))
    throw new Error("Cannot measure a process of curl");
  return {
    // With the warm requests, by their share.
    curl: {
      ms: figures.map(([, , seconds]) => seconds! * 1_000),
      cpu_ms: figures.map(() => cpu_ms / answers.length),
    },
    "curl, a process a call": {
      ms: processes.map(([ms]) => ms),
      cpu_ms: processes.map(([, used_ms]) => used_ms),
    },
  };
}

/** The third program of this file: it passes on to the web of benches, after a time. */
async function serveSlowly(): Promise<void> {
  const server = createServer((request, response) => {
    const passOn = async () => {
      const answer = await fetch(`http://127.0.0.1:18330${request.url}`);
      response.statusCode = answer.status;
      response.setHeader("Content-Type", answer.headers.get("content-type") ?? "text/html");
      response.end(Buffer.from(await answer.arrayBuffer()));
    };
    setTimeout(() => void passOn(), SLOW_MS);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
}

/** A job of so many items with one page, read whole once. */
async function endedJob({ url, key }: Service, page: Body): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const items = Array.from({ length: ITEMS }, () => page);
  const body = JSON.stringify({ items, idempotency_key: `clients-${process.pid}` });
  const answer = await fetch(`${url}/v1/batch/fetch`, { method: "POST", headers, body });
  const answered = (await answer.json()) as { readonly job_id?: string };
  const { job_id } = answered;
  if (job_id === undefined) throw new Error(`Cannot begin the job: ${JSON.stringify(answered)}`);
  await (await fetch(`${url}/v1/jobs/${job_id}/results?follow=true`, { headers })).text();
  return job_id;
}

async function compare(slow: ChildProcess): Promise<void> {
  const [slow_port] = (await once(slow, "message")) as [number];
  const web = pinned(0, ["bench/web.ts", "18330"]);
  await answering("http://127.0.0.1:18330/count");
  const ours = await service(1, 18_331);
  const folder = mkdtempSync(join(tmpdir(), "trawl-clients-"));
  const file = join(folder, "asks.json");
  let n = 0;
  const page = (port: number, path: string): Body => ({
    url: `http://127.0.0.1:${port}${path}${n++}`,
    tiers: ["direct"],
    formats: ["markdown"],
  });
  const fetched = (body: Body): Ask => ({ kind: "fetch", body });
  const kept = page(18_330, "/l/");
  const job_id = await endedJob(ours, kept);
  const workloads: Readonly<Record<string, readonly [pairs: number, () => Ask]>> = {
    "a page from the cache": [400, () => fetched(kept)],
    "a page is fetched": [30, () => fetched(page(18_330, "/p/"))],
    "a page of a site that takes 200 ms": [10, () => fetched(page(slow_port, "/p/"))],
    "5,000 results": [2, () => ({ kind: "results", job_id })],
  };
  const run = (clients: string, words: readonly string[]): Measured => {
    const env = { ...process.env, PYTHONPATH: join(clients, "python/src") };
    const output = execFileSync("taskset", ["-c", "0", ...words], { env, input: ours.key }).toString();
    const measured = Object.entries(JSON.parse(output) as Measured);
    const suffix = clients === values.clients ? "" : BESIDE;
    return Object.fromEntries(measured.map(([name, timed]) => [name + suffix, timed]));
  };
  const node = [process.execPath, "bench/clients.bench.ts", "--url", ours.url, "--asks", file];
  const programs: readonly ((asks: Asks) => Measured)[] = [
    (asks) => askByCurl(ours, asks),
    ...[values.clients, ...(values.beside === undefined ? [] : [values.beside])].flatMap((clients) => [
      () => run(clients, [...node, "--clients", clients]),
      () => run(clients, [values.python, "-c", PYTHON, ours.url, file]),
    ]),
  ];
  const times = new Map<string, Map<string, Timed>>();
  const until_ms = performance.now() + Number(values.seconds) * 1_000;
  let rounds = 0;
  for (; rounds === 0 || performance.now() < until_ms; rounds++)
    for (const [workload, [pairs, next]] of Object.entries(workloads)) {
      const all = times.get(workload) ?? new Map<string, Timed>();
      times.set(workload, all);
      for (const program of rounds % 2 === 0 ? programs : programs.toReversed()) {
        const warm = Array.from({ length: WARM }, () => fetched(kept));
        const asks: Asks = { warm, measured: Array.from({ length: pairs * 2 }, next) };
        writeFileSync(file, JSON.stringify(asks));
        for (const [name, { ms, cpu_ms }] of Object.entries(program(asks))) {
          const before = all.get(name);
          all.set(name, {
            ms: [...(before?.ms ?? []), ...ms],
            cpu_ms: [...(before?.cpu_ms ?? []), ...cpu_ms],
          });
        }
      }
    }
  const rows = [...times].flatMap(([workload, all]) => rowsOf(workload, all));
  console.log(JSON.stringify({ machine: machine(), rounds, rows }, null, 2));
  await Promise.all([web.stop(), ours.stop()]);
  rmSync(folder, { recursive: true });
}

const LIBRARIES: Readonly<Record<string, string>> = {
  "@trawl/client": "fetch",
  "trawl-client": "httpx",
  [`@trawl/client${BESIDE}`]: `fetch${BESIDE}`,
  [`trawl-client${BESIDE}`]: `httpx${BESIDE}`,
};

function rowsOf(workload: string, all: ReadonlyMap<string, Timed>): readonly object[] {
  const rounded = (value: number): number => Number(value.toFixed(3));
  return [...all].map(([name, { ms, cpu_ms }]) => {
    const figures = {
      workload,
      name,
      calls: ms.length,
      low_ms: rounded(ms.toSorted((a, b) => a - b)[Math.floor(ms.length / 10)]!),
      median_ms: rounded(median(ms)),
      median_of_curl: rounded(median(ms) / median(all.get("curl")!.ms)),
      cpu_ms: rounded(median(cpu_ms)),
    };
    const library = all.get(LIBRARIES[name] ?? "");
    if (library === undefined) return figures;
    return {
      ...figures,
      pairs: {
        // Time that the client adds in the same pair, as a share of the library's.
        wall: rounded(median(ms.map((each, n) => each - library.ms[n]!)) / median(library.ms)),
        cpu: rounded(median(cpu_ms.map((each, n) => each - library.cpu_ms[n]!)) / median(library.cpu_ms)),
      },
    };
  });
}

if (values.slow) await serveSlowly();
else if (values.asks !== undefined) {
  const asks = JSON.parse(readFileSync(values.asks, "utf8")) as Asks;
  console.log(JSON.stringify(await ask(values.url!, asks)));
} else {
  const slow = fork(new URL(import.meta.url).pathname, ["--slow"]);
  try {
    await compare(slow);
  } finally {
    slow.kill();
  }
}
