/**
 * node bench/gateway.bench.ts [--runs 3] [--seconds 4] [--write]: cached fetches through the whole gateway (key,
 * limits, metering, request id, log level info) beside two bare uWebSockets.js: `echo` is sent the answer's bytes and
 * sends them back, `send` is sent the same request and sends the answer's bytes, which it has ready. Requests per second
 * of the server's CPU; needs wrk. What else the machine does only ever adds to a run, so the best of each is printed beside
 * the median. The wall figure is wrk's and shares the machine.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { request } from "undici";
import {
  answering,
  type Load,
  loadByWrk,
  machine,
  median,
  pinned,
  service,
  type StartedService,
} from "./harness.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    write: { type: "boolean", default: false },
    echo: { type: "string" },
  },
});

/** The other program of this file: `--echo PORT`, the answer's length in the path; without one the body comes back. */
async function echo(port: number): Promise<void> {
  const { App } = await import("uWebSockets.js");
  const answers = new Map<number, Buffer>();
  App()
    .get("/health", (answer) => void answer.end("{}"))
    .post("/*", (answer, asked) => {
      const bytes = Number(asked.getUrl().slice(1));
      const content = bytes === 0 ? null : (answers.get(bytes) ?? Buffer.alloc(bytes, "x"));
      if (content) answers.set(bytes, content);
      answer.onAborted(() => {});
      let body = Buffer.alloc(0);
      answer.onData((piece, last) => {
        body = Buffer.concat([body, Buffer.from(piece)]);
        if (last)
          answer.cork(() => answer.writeHeader("Content-Type", "application/json").end(content ?? body));
      });
    })
    .listen(port, () => {});
}

const SECONDS = Number(values.seconds);

async function compare(): Promise<void> {
  const web = pinned(0, ["bench/web.ts", "18310"]);
  await answering("http://127.0.0.1:18310/count");
  const ours = await service(1, 18_311);
  const bare = pinned(1, ["bench/gateway.bench.ts", "--echo", "18312"]);
  await answering("http://127.0.0.1:18312/health");
  const authorization = `Bearer ${ours.key}`;
  const load = ({ pid }: StartedService, url: string, headers: Record<string, string>, body: string): Load =>
    loadByWrk(pid, { url, headers, body, seconds: SECONDS });
  const rows = [];
  for (const [name, body] of [
    [
      "a page of one paragraph",
      { url: "http://127.0.0.1:18310/s/1", tiers: ["direct"], include_html: false },
    ],
    ["8 KiB page, text", { url: "http://127.0.0.1:18310/k/1", include_html: false, tiers: ["direct"] }],
    ["8 KiB page, text and html", { url: "http://127.0.0.1:18310/k/2", tiers: ["direct"] }],
    ["a large page, text and html", { url: "http://127.0.0.1:18310/p/3", tiers: ["direct"] }],
  ] as const) {
    const text = JSON.stringify(body);
    const once = async () => {
      // A connection of its own: the server closes idle ones while wrk blocks this process.
      const asked = { method: "POST", headers: { authorization }, body: text, reset: true } as const;
      return (await request(`${ours.url}/v1/fetch`, asked)).body.text();
    };
    await once();
    const answer = await once();
    if (!(JSON.parse(answer) as { cached: boolean }).cached) throw new Error(`Not cached: ${answer}`);
    const bytes = Buffer.byteLength(answer);
    const runs = { trawl: [] as Load[], echo: [] as Load[], send: [] as Load[] };
    for (let run = 0; run < Number(values.runs); run++) {
      runs.trawl.push(load(ours, `${ours.url}/v1/fetch`, { Authorization: authorization }, text));
      runs.echo.push(load(bare, "http://127.0.0.1:18312/", { Authorization: authorization }, answer));
      runs.send.push(load(bare, `http://127.0.0.1:18312/${bytes}`, { Authorization: authorization }, text));
    }
    const of = (loads: readonly Load[]) => ({
      per_cpu_s: Math.round(median(loads.map(({ per_cpu_s }) => per_cpu_s))),
      best_per_cpu_s: Math.round(Math.max(...loads.map(({ per_cpu_s }) => per_cpu_s))),
      per_s: Math.round(median(loads.map(({ per_s }) => per_s))),
    });
    const [trawl, echoed, sent] = [of(runs.trawl), of(runs.echo), of(runs.send)];
    const share = (other: typeof trawl) => ({
      median: Number((trawl.per_cpu_s / other.per_cpu_s).toFixed(2)),
      best: Number((trawl.best_per_cpu_s / other.best_per_cpu_s).toFixed(2)),
    });
    rows.push({ name, bytes, trawl, echo: echoed, send: sent, of_echo: share(echoed), of_send: share(sent) });
  }
  await Promise.all([ours.stop(), bare.stop(), web.stop()]);
  const report = { command: process.argv.slice(1).join(" "), machine: machine(), rows };
  console.log(JSON.stringify(report, null, 1));
  if (values.write) writeFileSync("bench/results/gateway.json", `${JSON.stringify(report, null, 1)}\n`);
}

await (values.echo === undefined ? compare() : echo(Number(values.echo)));
