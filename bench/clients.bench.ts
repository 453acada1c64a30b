/**
 * node bench/clients.bench.ts [--seconds 220] [--python PATH]: what an operation through each client takes beside curl, at one running service: real pages (`web.ts`, /p/N) that are
 * fetched each time, the same of a site that answers after 200 ms, a page that is answered from the cache, a batch of pages from its beginning to its last result, and
 * the results of a job of 5,000 items, read in one stream. curl asks for the content coding that the clients ask for, unpacks it, and reads no answer. Beside them what
 * the clients are made of, so that their own part is seen: `fetch` with `JSON.parse`, and httpx with `json.loads`. Each has one warm connection. Every round is a
 * new process of each for each operation, in turn and then the other way round, and begins with requests that no figure has; rounds are begun until the seconds are over. CPU time is
 * that of the process while it asks (curl: with the warm requests, by their share), so the server's is in none. What else the machine does only adds to a time: the tenth percentile of all requests is
 * printed beside the median. The service has core 1, all others core 0. `--python`: one that has httpx and pydantic.
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
    made: { type: "string" },
    url: { type: "string" },
    asks: { type: "string" },
    slow: { type: "boolean", default: false },
  },
});

type Body = { readonly url: string } & Readonly<Record<string, unknown>>;
/** One operation: a page, a batch until its last result, or the results of a job that has ended. */
type Ask =
  | { readonly kind: "fetch"; readonly body: Body }
  | { readonly kind: "batch"; readonly items: readonly Body[] }
  | { readonly kind: "results"; readonly job_id: string };
interface Asks {
  /** The first requests of a process, which no figure has: a client's code is hot after them. */
  readonly warm: readonly Ask[];
  readonly measured: readonly Ask[];
}
interface Timed {
  /** Of each operation. */
  readonly ms: readonly number[];
  /** Of the whole process while it asks. */
  readonly cpu_ms: number;
}

const WARM = 150;
const SLOW_MS = 200;
const ITEMS = 5_000;
const IN_BATCH = 50;

const PYTHON = `
import json, resource, sys, time, uuid
import httpx
from trawl_client import Trawl
made, url, key, asks = sys.argv[1:]
asks = json.load(open(asks))
trawl = Trawl(url=url, key=key)
plain = httpx.Client(headers={"authorization": "Bearer " + key}, timeout=60)
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000
def begun(items):
    return json.loads(plain.post(url + "/v1/batch/fetch", json={"items": items, "idempotency_key": str(uuid.uuid4())}).content)["job_id"]
def read(job_id):
    with plain.stream("GET", url + "/v1/jobs/" + job_id + "/results", params={"follow": "true"}) as answer:
        # httpx ends a line at U+2028, too, which texts of pages have.
        count, rest = 0, b""
        for piece in answer.iter_bytes():
            *lines, rest = (rest + piece).split(b"\\n")
            count += sum(1 for line in lines if line and json.loads(line))
        return count
def by_client(kind, body=None, items=None, job_id=None):
    if kind == "fetch":
        return trawl.fetch(**body)
    return sum(1 for _ in (trawl.batch.fetch(items) if kind == "batch" else trawl.job(job_id)))
def by_httpx(kind, body=None, items=None, job_id=None):
    if kind == "fetch":
        return json.loads(plain.post(url + "/v1/fetch", json=body).content)
    return read(begun(items) if kind == "batch" else job_id)
do = by_client if made == "client" else by_httpx
for ask in asks["warm"]:
    do(**ask)
before, times = cpu(), []
for ask in asks["measured"]:
    began = time.perf_counter()
    do(**ask)
    times.append((time.perf_counter() - began) * 1000)
print(json.dumps({"ms": times, "cpu_ms": cpu() - before}))
`;

/** The other program of this file. */
let keys = 0;
const newKey = (): string => `clients-${process.pid}-${keys++}`;

async function ask(made: string, url: string, { warm, measured }: Asks): Promise<Timed> {
  const key = process.env["TRAWL_KEY"]!;
  const { Trawl } = await import("../clients/typescript/src/client.ts");
  const trawl = new Trawl({ url, key });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const post = async (path: string, body: object): Promise<any> =>
    JSON.parse(
      await (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).text(),
    );
  const read = async (results: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of results);
  };
  const byClient = (asked: Ask): Promise<unknown> => {
    if (asked.kind === "results") return read(trawl.job(asked.job_id));
    if (asked.kind === "batch") return read(trawl.batch.fetch(asked.items));
    const { url: page, ...options } = asked.body;
    return trawl.fetch(page, options);
  };
  const byFetch = async (asked: Ask): Promise<unknown> => {
    if (asked.kind === "fetch") return post("/v1/fetch", asked.body);
    const { job_id } =
      asked.kind === "results"
        ? asked
        : await post("/v1/batch/fetch", { items: asked.items, idempotency_key: newKey() });
    const answer = await fetch(`${url}/v1/jobs/${job_id}/results?follow=true`, { headers });
    let rest = "";
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "") JSON.parse(line);
    }
    return null;
  };
  const send = made === "client" ? byClient : byFetch;
  for (const each of warm) await send(each);
  const ms: number[] = [];
  const before = process.cpuUsage();
  for (const each of measured) {
    const began_ms = performance.now();
    await send(each);
    ms.push(performance.now() - began_ms);
  }
  const { user, system } = process.cpuUsage(before);
  return { ms, cpu_ms: (user + system) / 1_000 };
}

/** Of a process of curl and what it used, with its output. */
const TIMED = `import json,sys,subprocess as s,resource as r
out=s.run(sys.argv[1:],stdout=s.PIPE,check=True).stdout.decode()
u=r.getrusage(r.RUSAGE_CHILDREN);print(json.dumps([(u.ru_utime+u.ru_stime)*1000,out]))`;

function runCurl(file: string, requests: readonly (readonly string[])[]): readonly [number, string] {
  const all = requests.map((lines) => [...lines, "compressed", "silent"].join("\n"));
  writeFileSync(file, all.join("\nnext\n"));
  const words = ["-c", "0", values.python, "-c", TIMED, "curl", "--config", file];
  return JSON.parse(execFileSync("taskset", words, { maxBuffer: 2 ** 28 }).toString());
}

function askByCurl(folder: string, { url, key }: Service, { warm, measured }: Asks): Timed {
  const file = join(folder, "curl");
  const common = [`header = "Authorization: Bearer ${key}"`, 'header = "Accept-Encoding: gzip, deflate"'];
  const sent = (path: string, body: object): readonly string[] => [
    `url = "${url}${path}"`,
    ...common,
    'header = "Content-Type: application/json"',
    `data = ${JSON.stringify(JSON.stringify(body))}`,
  ];
  const timed = ['output = "/dev/null"', 'write-out = "%{http_code} %{num_connects} %{time_total}\\n"'];
  const results = (job_id: string): readonly string[] => [
    `url = "${url}/v1/jobs/${job_id}/results?follow=true"`,
    ...common,
  ];
  const one = (asked: Ask): readonly string[] => {
    if (asked.kind === "fetch") return sent("/v1/fetch", asked.body);
    return asked.kind === "batch"
      ? sent("/v1/batch/fetch", { items: asked.items, idempotency_key: newKey() })
      : results(asked.job_id);
  };
  // What comes second needs the name that came first: two processes, and the start of the second is in no figure.
  if (measured[0]!.kind === "batch") {
    const times = measured.map((asked) => {
      const [first_cpu_ms, text] = runCurl(file, [[...one(asked), 'write-out = "\\n%{time_total}\\n"']]);
      const [body, first_s] = text.trim().split("\n");
      const [cpu_ms, second] = runCurl(file, [[...results(JSON.parse(body!).job_id), ...timed]]);
      const [, , second_s] = second.trim().split(" ").map(Number);
      return { ms: (Number(first_s) + second_s!) * 1_000, cpu_ms: first_cpu_ms + cpu_ms };
    });
    return { ms: times.map(({ ms }) => ms), cpu_ms: times.reduce((sum, each) => sum + each.cpu_ms, 0) };
  }
  const [cpu_ms, text] = runCurl(
    file,
    [...warm, ...measured].map((each) => [...one(each), ...timed]),
  );
  const answers = text
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
  const figures = answers.slice(warm.length);
  if (figures.length === 0 || figures.some(([status, connects]) => status !== 200 || connects !== 0))
    throw new Error(`Cannot measure curl: ${text.slice(-200)}`);
  return {
    ms: figures.map(([, , seconds]) => seconds! * 1_000),
    cpu_ms: (cpu_ms * figures.length) / answers.length,
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
  const body = JSON.stringify({ items, idempotency_key: newKey() });
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
  const workloads: Readonly<Record<string, readonly [count: number, () => Ask]>> = {
    "a page is fetched": [60, () => fetched(page(18_330, "/p/"))],
    "a page of a site that takes 200 ms": [12, () => fetched(page(slow_port, "/p/"))],
    "a batch of 50 pages": [
      2,
      () => ({ kind: "batch", items: Array.from({ length: IN_BATCH }, () => page(18_330, "/p/")) }),
    ],
    "5,000 results": [2, () => ({ kind: "results", job_id })],
    "a page from the cache": [400, () => fetched(kept)],
  };
  const environment = { ...process.env, TRAWL_KEY: ours.key, PYTHONPATH: "clients/python/src" };
  const run = (words: readonly string[]): Timed =>
    JSON.parse(execFileSync("taskset", ["-c", "0", ...words], { env: environment }).toString());
  const node = (made: string): Timed =>
    run([process.execPath, "bench/clients.bench.ts", "--url", ours.url, "--asks", file, "--made", made]);
  const python = (made: string): Timed => run([values.python, "-c", PYTHON, made, ours.url, ours.key, file]);
  const kinds: Readonly<Record<string, (asks: Asks) => Timed>> = {
    curl: (asks) => askByCurl(folder, ours, asks),
    "@trawl/client": () => node("client"),
    "trawl-client": () => python("client"),
    fetch: () => node("plain"),
    httpx: () => python("plain"),
  };
  const names = Object.keys(kinds);
  const times = new Map<string, Timed[]>();
  const until_ms = performance.now() + Number(values.seconds) * 1_000;
  let rounds = 0;
  for (; rounds === 0 || performance.now() < until_ms; rounds++)
    for (const [workload, [count, next]] of Object.entries(workloads))
      for (const name of rounds % 2 === 0 ? names : names.toReversed()) {
        const warm = Array.from({ length: WARM }, () => fetched(kept));
        const asks: Asks = { warm, measured: Array.from({ length: count }, next) };
        writeFileSync(file, JSON.stringify(asks));
        const all = times.get(workload + name) ?? [];
        times.set(workload + name, [...all, kinds[name]!(asks)]);
      }
  const rows = Object.keys(workloads).flatMap((workload) => {
    const figuresOf = (name: string) => {
      const all = times.get(workload + name)!;
      const ms = all.flatMap((each) => each.ms).toSorted((a, b) => a - b);
      return {
        low_ms: ms[Math.floor(ms.length / 10)]!,
        median_ms: median(ms),
        cpu_ms: median(all.map((each) => each.cpu_ms / each.ms.length)),
      };
    };
    const curl = figuresOf("curl");
    return names.map((client) => {
      const { low_ms, median_ms, cpu_ms } = figuresOf(client);
      const row = {
        low_ms,
        low_of_curl: low_ms / curl.low_ms,
        median_ms,
        median_of_curl: median_ms / curl.median_ms,
        cpu_ms,
      };
      const rounded = Object.entries(row).map(([name, value]) => [name, Number(value.toFixed(3))]);
      return { workload, client, ...Object.fromEntries(rounded) };
    });
  });
  console.log(JSON.stringify({ machine: machine(), rounds, rows }, null, 2));
  await Promise.all([web.stop(), ours.stop()]);
  rmSync(folder, { recursive: true });
}

if (values.slow) await serveSlowly();
else if (values.made !== undefined) {
  const asks = JSON.parse(readFileSync(values.asks!, "utf8")) as Asks;
  console.log(JSON.stringify(await ask(values.made, values.url!, asks)));
} else {
  const slow = fork(new URL(import.meta.url).pathname, ["--slow"]);
  try {
    await compare(slow);
  } finally {
    slow.kill();
  }
}
