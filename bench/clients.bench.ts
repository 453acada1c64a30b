/**
 * node bench/clients.bench.ts [--rounds 6] [--requests 200] [--python PATH]: what a call through each client takes beside curl. The same requests, one
 * after the other over one warm connection, to one running service: pages of 8 KiB that are fetched each time, and a page that is answered from the
 * cache. A time is that from the request to the last byte (curl, which reads no answer), or to the value that the caller gets (the others). Beside them what the
 * clients are made of, so that their own part is seen: `fetch` with `json()`, and httpx with `json.loads`. Every round is a new process of each, in turn
 * and then the other way round. Node, curl and the web share core 0, the service has core 1. `--python`: one that has httpx and pydantic.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { answering, machine, median, pinned, type Service, service } from "./harness.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "6" },
    requests: { type: "string", default: "200" },
    python: { type: "string", default: "/opt/python-client/bin/python" },
    made: { type: "string" },
    url: { type: "string" },
    bodies: { type: "string" },
  },
});

type Body = { readonly url: string } & Readonly<Record<string, unknown>>;
interface Timed {
  /** Of each request. */
  readonly ms: readonly number[];
  /** Of the whole process while it asks. */
  readonly cpu_ms: number;
}

/** The first requests of a process, which no figure has. */
const WARM = 50;

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

async function compare(): Promise<void> {
  const web = pinned(0, ["bench/web.ts", "18330"]);
  await answering("http://127.0.0.1:18330/count");
  const ours = await service(1, 18_331);
  const folder = mkdtempSync(join(tmpdir(), "trawl-clients-"));
  const count = WARM + Number(values.requests);
  let n = 0;
  const page = (): Body => ({
    url: `http://127.0.0.1:18330/l/${n++}`,
    tiers: ["direct"],
    formats: ["markdown"],
  });
  const kept = page();
  const workloads = {
    "a page is fetched": page,
    "a page from the cache": () => kept,
  };
  const environment = { ...process.env, TRAWL_KEY: ours.key, PYTHONPATH: "clients/python/src" };
  const run = (words: readonly string[]): Timed =>
    JSON.parse(execFileSync("taskset", ["-c", "0", ...words], { env: environment }).toString());
  const node = (made: string, file: string): Timed =>
    run([process.execPath, "bench/clients.bench.ts", "--made", made, "--url", ours.url, "--bodies", file]);
  const python = (made: string, file: string): Timed =>
    run([values.python, "-c", PYTHON, made, ours.url, ours.key, file, String(WARM)]);
  const kinds: Readonly<Record<string, (file: string) => Timed>> = {
    curl: (file) => askByCurl(folder, ours, JSON.parse(readFileSync(file, "utf8"))),
    "@trawl/client": (file) => node("client", file),
    "trawl-client": (file) => python("client", file),
    fetch: (file) => node("plain", file),
    httpx: (file) => python("plain", file),
  };
  const rows = [];
  for (const [workload, bodyOf] of Object.entries(workloads)) {
    const times = new Map<string, Timed[]>(Object.keys(kinds).map((name) => [name, []]));
    for (let round = 0; round < Number(values.rounds); round++) {
      const names = Object.keys(kinds);
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        const file = join(folder, "bodies.json");
        writeFileSync(file, JSON.stringify(Array.from({ length: count }, bodyOf)));
        times.get(name)!.push(kinds[name]!(file));
      }
    }
    const medians = (name: string): number[] => times.get(name)!.map(({ ms }) => median(ms));
    const of_curl = medians("curl");
    for (const [name, all] of times) {
      const ms = medians(name);
      rows.push({
        workload,
        client: name,
        ms: rounded(median(ms)),
        // Of the same round, so that a slow moment of the machine is in both.
        of_curl: rounded(median(ms.map((each, round) => each / of_curl[round]!))),
        of_curl_by_round: ms.map((each, round) => rounded(each / of_curl[round]!)),
        cpu_ms: rounded(median(all.map(({ ms: each, cpu_ms }) => cpu_ms / each.length))),
      });
    }
  }
  console.log(
    JSON.stringify({ machine: machine(), requests: count - WARM, rounds: values.rounds, rows }, null, 2),
  );
  await Promise.all([web.stop(), ours.stop()]);
  rmSync(folder, { recursive: true });
}

const rounded = (number: number): number => Number(number.toFixed(3));

if (values.made !== undefined) {
  const bodies = JSON.parse(readFileSync(values.bodies!, "utf8")) as Body[];
  console.log(JSON.stringify(await ask(values.made, values.url!, bodies)));
} else await compare();
