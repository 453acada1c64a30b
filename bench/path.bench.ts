/**
 * node bench/path.bench.ts [--list]: how many files and functions of the program one request enters, and how often it calls them, by V8's coverage of a
 * running service on the embedded engines: a light page fetched anew on a new host and on a known one, the same request answered from the cache, and a
 * search. Functions that are also entered while nothing is asked are not counted, nor are those of reader processes and of packages.
 * --list: files of the first row, those with most functions first.
 */
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { answering, fetchPage, pinned, service } from "./harness.ts";

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const WEB_PORT = 18_330;
const INSPECTOR_PORT = 18_339;
const WARM = 200;
/** Longer than the longest interval of what a service does by itself every few seconds. */
const IDLE_MS = 20_000;
const ROUNDS = 5;

interface FunctionCoverage {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly FunctionCoverage[];
}

/** Calls of each function by file and place. */
type Calls = ReadonlyMap<string, number>;

/** A connection to the inspector of the service. */
async function inspector(port: number) {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as readonly {
    readonly webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(targets[0]!.webSocketDebuggerUrl);
  const opened = Promise.withResolvers<void>();
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  await opened.promise;
  let last = 0;
  const call = (method: string, params: object = {}): Promise<unknown> => {
    const answered = Promise.withResolvers<unknown>();
    waiting.set(++last, answered.resolve);
    socket.send(JSON.stringify({ id: last, method, params }));
    return answered.promise;
  };
  return { call, close: () => socket.close() };
}

const own = new URL("../", import.meta.url).href;
const isOwn = ({ url }: ScriptCoverage): boolean => url.startsWith(own) && !url.includes("/node_modules/");

const agent = new Agent({ connections: 1 });
const web = pinned(0, ["bench/web.ts", String(WEB_PORT)]);
await answering(`http://127.0.0.1:${WEB_PORT}/count`);
const served = await service(1, 18_331, {}, [`--inspect=127.0.0.1:${INSPECTOR_PORT}`]);
const page = (host: number, n: number): string =>
  `http://127.2.${1 + Math.floor(host / 250)}.${1 + (host % 250)}:${WEB_PORT}/l/${n}`;

const ask = async (path: string, body: object): Promise<void> => {
  const reply = await request(`${served.url}${path}`, {
    method: "POST",
    dispatcher: agent,
    headers: { authorization: `Bearer ${served.key}` },
    body: JSON.stringify(body),
  });
  if (reply.statusCode !== 200)
    throw new Error(`Cannot ask "${path}": ${reply.statusCode} ${await reply.body.text()}`);
  await reply.body.dump();
};

let host = 0;
const known = page(0, 0);
const requests: Readonly<Record<string, (n: number) => Promise<void>>> = {
  "page on a new host": (n) => fetchPage(served, agent, page(++host, n)),
  "page on a known host": (n) => fetchPage(served, agent, page(0, n)),
  "page from the cache": () =>
    ask("/v1/fetch", { url: known, cache_ttl_s: 3_600, include_html: false, tiers: ["direct"] }),
  search: (n) => ask("/v1/search", { query: `page ${n}` }),
};

for (let n = 0; n < WARM; n++) for (const once of Object.values(requests)) await once(n);
const { call, close } = await inspector(INSPECTOR_PORT);
await call("Profiler.enable");
await call("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

async function taken(): Promise<Calls> {
  const { result } = (await call("Profiler.takePreciseCoverage")) as {
    readonly result: readonly ScriptCoverage[];
  };
  const calls = new Map<string, number>();
  for (const script of result.filter(isOwn))
    for (const { functionName, ranges } of script.functions) {
      const { startOffset, count } = ranges[0]!;
      const name = `${script.url.slice(own.length)} ${functionName || "(anonymous)"}:${startOffset}`;
      if (count > 0) calls.set(name, count);
    }
  return calls;
}

await taken();
await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
const idle = await taken();

const fileOf = (name: string): string => name.slice(0, name.indexOf(" "));

/** Functions that every one of the rounds entered, with the calls of the round with the fewest. */
async function entered(once: (n: number) => Promise<void>): Promise<Calls> {
  let always: Map<string, number> | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    await taken();
    await once(WARM + round);
    // Work that a request leaves for after its answer belongs to it.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const calls = await taken();
    const before: Calls = always ?? calls;
    always = new Map(
      [...before].flatMap(([name, count]) =>
        calls.has(name) && !idle.has(name) ? [[name, Math.min(count, calls.get(name)!)] as const] : [],
      ),
    );
  }
  return always!;
}

const rows: { readonly name: string; readonly calls: Calls }[] = [];
for (const [name, once] of Object.entries(requests)) rows.push({ name, calls: await entered(once) });
console.log("| request | files | functions | calls |\n| --- | ---: | ---: | ---: |");
for (const { name, calls } of rows) {
  const files = new Set([...calls.keys()].map(fileOf));
  const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
  console.log(`| ${name} | ${files.size} | ${calls.size} | ${all} |`);
}
if (values.list) {
  const byFile = Map.groupBy(rows[0]!.calls, ([name]) => fileOf(name));
  for (const [file, calls] of [...byFile].toSorted(([, a], [, b]) => b.length - a.length))
    console.log(
      file,
      calls.length,
      calls.map(([name, n]) => `${name.slice(file.length + 1)}×${n}`).join(" "),
    );
}
close();
await served.stop();
await web.stop();
await agent.close();
