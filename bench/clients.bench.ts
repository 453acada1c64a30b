/**
 * node bench/clients.bench.ts [--rounds 3] [--python PATH]: what a call through each client takes beside curl. The same requests, one after the other over one
 * warm connection, to one running service: pages of 8 KiB of a site on loopback that are fetched each time, the same of a site that answers after 200 ms, and a page that is
 * answered from the cache. A time is that from the request to the last byte (curl, which reads no answer), or to the value that the caller gets (the others). Beside them
 * what the clients are made of, so that their own part is seen: `fetch` with `json()`, and httpx with `json.loads`. Every round is a new process of each, in turn and then
 * the other way round, and begins with requests from the cache that no figure has. What else the machine does only adds to a time: the tenth percentile of all requests is
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
    rounds: { type: "string", default: "3" },
    python: { type: "string", default: "/opt/python-client/bin/python" },
    made: { type: "string" },
    url: { type: "string" },
    bodies: { type: "string" },
    slow: { type: "boolean", default: false },
  },
});

type Body = { readonly url: string } & Readonly<Record<string, unknown>>;
interface Timed {
  /** Of each request. */
  readonly ms: readonly number[];
  /** Of the whole process while it asks. */
  readonly cpu_ms: number;
}

/** The first requests of a process, which no figure has: a client's code is hot after them. */
const WARM = 300;
const SLOW_MS = 200;

const PYTHON = `
import json, resource, sys, time
import httpx
from trawl_client import Trawl
made, url, key, bodies, warm = sys.argv[1:]
bodies, warm = json.load(open(bodies)), int(warm)
trawl = Trawl(url=url, key=key)
plain = httpx.Client(headers={"authorization": "Bearer " + key})
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000
def ask(body):
    if made == "client":
        return trawl.fetch(**body)
    return json.loads(plain.post(url + "/v1/fetch", json=body).content)
times = []
for at, body in enumerate(bodies):
    if at == warm:
        before = cpu()
    began = time.perf_counter()
    ask(body)
    times.append((time.perf_counter() - began) * 1000)
print(json.dumps({"ms": times[warm:], "cpu_ms": cpu() - before}))
`;

/** The other program of this file. */
async function ask(made: string, url: string, bodies: readonly Body[]): Promise<Timed> {
  const key = process.env["TRAWL_KEY"]!;
  const { Trawl } = await import("../clients/typescript/src/client.ts");
  const trawl = new Trawl({ url, key });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const plain = async (body: Body): Promise<unknown> =>
    (await fetch(`${url}/v1/fetch`, { method: "POST", headers, body: JSON.stringify(body) })).json();
  const ms: number[] = [];
  let before = process.cpuUsage();
  for (const [at, body] of bodies.entries()) {
    if (at === WARM) before = process.cpuUsage();
    const began_ms = performance.now();
    const { url: page, ...options } = body;
    await (made === "client" ? trawl.fetch(page, options) : plain(body));
    ms.push(performance.now() - began_ms);
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: ms.slice(WARM), cpu_ms: (user + system) / 1_000 };
}

function askByCurl(folder: string, { url, key }: Service, bodies: readonly Body[]): Timed {
  const file = join(folder, "curl");
  const requests = bodies.map((body) =>
    [
      `url = "${url}/v1/fetch"`,
      `header = "Authorization: Bearer ${key}"`,
      `header = "Content-Type: application/json"`,
      `data = ${JSON.stringify(JSON.stringify(body))}`,
      `output = "/dev/null"`,
      `write-out = "%{http_code} %{num_connects} %{time_total}\\n"`,
      "silent",
    ].join("\n"),
  );
  writeFileSync(file, requests.join("\nnext\n"));
  const timed = `import os,sys,subprocess as s,resource as r
out=s.run(sys.argv[1:],stdout=s.PIPE).stdout.decode()
u=r.getrusage(r.RUSAGE_CHILDREN);print((u.ru_utime+u.ru_stime)*1000);print(out)`;
  const words = ["-c", "0", values.python, "-c", timed, "curl", "--config", file];
  const [cpu_ms, ...lines] = execFileSync("taskset", words).toString().trim().split("\n");
  const answers = lines.map((line) => line.split(" ").map(Number));
  const measured = answers.slice(WARM);
  if (measured.length === 0 || measured.some(([status, connects]) => status !== 200 || connects !== 0))
    throw new Error(`Cannot measure curl: ${lines.at(-1)}`);
  // With the warm requests, which take a part of it.
  return {
    ms: measured.map(([, , seconds]) => seconds! * 1_000),
    cpu_ms: (Number(cpu_ms) * measured.length) / answers.length,
  };
}

/** The third program of this file: a site that takes its time. */
async function serveSlowly(): Promise<void> {
  const page = `<!doctype html><title>Page</title><article><h1>Page</h1>${"<p>The harbour of the old town was described by many travellers.</p>".repeat(120)}</article>`;
  const server = createServer((request, response) => {
    setTimeout(() => response.setHeader("Content-Type", "text/html").end(page + request.url), SLOW_MS);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send!((server.address() as AddressInfo).port);
}

async function compare(slow: ChildProcess): Promise<void> {
  const [slow_port] = (await once(slow, "message")) as [number];
  const web = pinned(0, ["bench/web.ts", "18330"]);
  await answering("http://127.0.0.1:18330/count");
  const ours = await service(1, 18_331);
  const folder = mkdtempSync(join(tmpdir(), "trawl-clients-"));
  let n = 0;
  const page = (port: number, path: string): Body => ({
    url: `http://127.0.0.1:${port}${path}${n++}`,
    tiers: ["direct"],
    formats: ["markdown"],
  });
  const kept = page(18_330, "/l/");
  const workloads = {
    "a page is fetched": { requests: 150, body: () => page(18_330, "/l/") },
    "a page of a site that takes 200 ms": { requests: 40, body: () => page(slow_port, "/") },
    "a page from the cache": { requests: 500, body: () => kept },
  };
  const environment = { ...process.env, TRAWL_KEY: ours.key, PYTHONPATH: "clients/python/src" };
  const run = (words: readonly string[]): Timed =>
    JSON.parse(execFileSync("taskset", ["-c", "0", ...words], { env: environment }).toString());
  const words = [process.execPath, "bench/clients.bench.ts", "--url", ours.url, "--bodies"];
  const node = (made: string, file: string): Timed => run([...words, file, "--made", made]);
  const python = (made: string, file: string): Timed =>
    run([values.python, "-c", PYTHON, made, ours.url, ours.key, file, String(WARM)]);
  const kinds: Readonly<Record<string, (file: string) => Timed>> = {
    curl: (file) => askByCurl(folder, ours, JSON.parse(readFileSync(file, "utf8"))),
    "@trawl/client": (file) => node("client", file),
    "trawl-client": (file) => python("client", file),
    fetch: (file) => node("plain", file),
    httpx: (file) => python("plain", file),
  };
  const names = Object.keys(kinds);
  const rows = [];
  for (const [workload, { requests, body }] of Object.entries(workloads)) {
    const times = new Map<string, Timed[]>(names.map((name) => [name, []]));
    for (let round = 0; round < Number(values.rounds); round++)
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        const file = join(folder, "bodies.json");
        const bodies = [
          ...Array.from({ length: WARM }, () => kept),
          ...Array.from({ length: requests }, body),
        ];
        writeFileSync(file, JSON.stringify(bodies));
        times.get(name)!.push(kinds[name]!(file));
      }
    const figuresOf = (name: string) => {
      const ms = times
        .get(name)!
        .flatMap((each) => each.ms)
        .toSorted((a, b) => a - b);
      return { low_ms: ms[Math.floor(ms.length / 10)]!, median_ms: median(ms) };
    };
    const curl = figuresOf("curl");
    for (const [client, all] of times) {
      const { low_ms, median_ms } = figuresOf(client);
      const cpu_ms = median(all.map(({ ms, cpu_ms: each }) => each / ms.length));
      const row = {
        low_ms,
        low_of_curl: low_ms / curl.low_ms,
        median_ms,
        median_of_curl: median_ms / curl.median_ms,
        cpu_ms,
      };
      const rounded = Object.entries(row).map(([name, value]) => [name, Number(value.toFixed(3))]);
      rows.push({ workload, client, ...Object.fromEntries(rounded) });
    }
  }
  console.log(JSON.stringify({ machine: machine(), rounds: values.rounds, rows }, null, 2));
  await Promise.all([web.stop(), ours.stop()]);
  rmSync(folder, { recursive: true });
}

if (values.slow) await serveSlowly();
else if (values.made !== undefined) {
  const bodies = JSON.parse(readFileSync(values.bodies!, "utf8")) as Body[];
  console.log(JSON.stringify(await ask(values.made, values.url!, bodies)));
} else {
  const slow = fork(new URL(import.meta.url).pathname, ["--slow"]);
  try {
    await compare(slow);
  } finally {
    slow.kill();
  }
}
