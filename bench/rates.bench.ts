/**
 * node bench/rates.bench.ts [--seconds 10] [--rounds 3]: how many requests a project gets that asks the four gateways of a cluster for
 * three times its limit of 200 a second. Requests are sent within whole seconds, so the limit allows 200 for each of them. Needs the
 * engines (npm run engines -- --install-only).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { PROJECT_RATE_DEFAULT } from "../schemas/accounts.ts";
import { clusterOf } from "../test/harness/cluster-of.ts";
import { machine } from "./harness.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "10" }, rounds: { type: "string", default: "3" } },
});
const SECONDS = Number(values.seconds);
const GATEWAYS = 4;
const CLIENTS = 64;
/** With so many clients three times the limit. */
const PAUSE_MS = Math.round((1_000 * CLIENTS) / (3 * PROJECT_RATE_DEFAULT));
/** Requests begin after the beginning of a second, and the last of them are counted before the end of theirs. */
const [MARGIN_BEFORE_MS, MARGIN_AFTER_MS] = [20, 150];

const cluster = await clusterOf(Array(GATEWAYS).fill("gateway,worker"), { own: ["documents", "blobs"] });
if (cluster === null) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
try {
  await cluster.settled();
  const dispatcher = new Agent({ connections: CLIENTS });
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${cluster.key}` };
    const { statusCode, body } = await request(`${cluster.url}/v1/jobs/none`, { dispatcher, headers });
    await body.dump();
    return statusCode;
  };
  await Promise.all(Array.from({ length: CLIENTS }, ask));
  const rounds: object[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    await sleep(2_000 - (Date.now() % 1_000) + MARGIN_BEFORE_MS);
    const ends_ms = Date.now() - MARGIN_BEFORE_MS + 1_000 * SECONDS - MARGIN_AFTER_MS;
    const statuses = new Map<number, number>();
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        await sleep((PAUSE_MS * client) / CLIENTS);
        for (; Date.now() < ends_ms; await sleep(PAUSE_MS)) {
          const status = await ask();
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    const refused = statuses.get(429) ?? 0;
    const sent = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const allowed = SECONDS * PROJECT_RATE_DEFAULT;
    rounds.push({
      sent,
      admitted: sent - refused,
      allowed,
      admitted_of_allowed: Number(((sent - refused) / allowed).toFixed(4)),
      statuses: Object.fromEntries(statuses),
    });
  }
  await dispatcher.close();
  const command = process.argv.slice(1).join(" ");
  process.stdout.write(
    `${JSON.stringify({ command, machine: machine(), gateways: GATEWAYS, rounds }, null, 1)}\n`,
  );
} finally {
  await cluster.close();
}
