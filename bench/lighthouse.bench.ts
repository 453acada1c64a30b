/**
 * node bench/lighthouse.bench.ts [--rounds 3] [--chromium /usr/bin/chromium]: Lighthouse's scores of the pages for people, of a service with
 * its demo site, started for this; of a phone with Lighthouse's own simulated network and CPU. Ends with 1 where a score of performance is below 95.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { machine, service } from "./harness.ts";
import { npmReady } from "./peers.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
    pages: { type: "string" },
  },
});
const PORT = 18_395;
const LEAST = 95;
const PAGES = [
  "/",
  "/console",
  "+/console#/try",
  "+/console#/usage",
  "/status",
  "/docs",
  "/docs/reference",
  "/changelog",
  "/demo/oskerry",
  "/crawler",
];

interface Scores {
  readonly path: string;
  readonly performance: number;
}

if (npmReady("lighthouse")) {
  const started = await service(0, PORT, { TRAWL_DEMO: "on" });
  try {
    const words = ["bench/peers/lighthouse/main.mjs", values.rounds, started.url, started.key];
    const out = execFileSync(process.execPath, [...words, ...(values.pages?.split(",") ?? PAGES)], {
      env: { ...process.env, CHROMIUM: values.chromium },
      maxBuffer: 2 ** 24,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { lighthouse, pages } = JSON.parse(out.toString()) as { lighthouse: string; pages: Scores[] };
    console.log(JSON.stringify({ machine: machine(), lighthouse, pages }, null, 1));
    if (pages.some(({ performance }) => performance < LEAST)) process.exitCode = 1;
  } finally {
    await started.stop();
  }
}
