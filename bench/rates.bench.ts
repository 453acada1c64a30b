/**
 * node bench/rates.bench.ts [--seconds 10] [--rounds 3]: how many requests a project gets that asks the four gateways of a cluster for
 * three times its limit of 200 a second. Requests are sent within whole seconds, so the limit allows 200 for each of them; seconds in
 * which a busy machine sent less than one and a half times the limit are left out. Beside it how often a gateway counted alone because
 * the account did not answer in time. Needs the engines (npm run engines -- --install-only).
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
/** Seconds with so many times the limit sent show what is admitted. */
const PRESSED = 1.5;
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
  /** Asks of the gateways' accounts without an answer in time. */
  const countedAlone = async (): Promise<number> => {
    const pages = await Promise.all(
      cluster.nodes.map(async ({ status_url }) => (await request(`${status_url}/metrics`)).body.text()),
    );
    return pages
      .flatMap((page) => [...page.matchAll(/^trawl_faults_total\{code="no_answer"\} (\d+)/gm)])
      .reduce((sum, [, count]) => sum + Number(count), 0);
  };
  await Promise.all(Array.from({ length: CLIENTS }, ask));
  const rounds: object[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    await sleep(2_000 - (Date.now() % 1_000) + MARGIN_BEFORE_MS);
    const ends_ms = Date.now() - MARGIN_BEFORE_MS + 1_000 * SECONDS - MARGIN_AFTER_MS;
    const seconds = new Map<number, { sent: number; refused: number }>();
    const alone = await countedAlone();
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        await sleep((PAUSE_MS * client) / CLIENTS);
        for (; Date.now() < ends_ms; await sleep(PAUSE_MS)) {
          const status = await ask();
          const at = Math.floor(Date.now() / 1_000);
          const second = seconds.get(at) ?? { sent: 0, refused: 0 };
          seconds.set(at, second);
          second.sent++;
          if (status === 429) second.refused++;
        }
      }),
    );
    const pressed = [...seconds.values()].filter(({ sent }) => sent >= PRESSED * PROJECT_RATE_DEFAULT);
    const admitted = pressed.reduce((sum, { sent, refused }) => sum + sent - refused, 0);
    const allowed = pressed.length * PROJECT_RATE_DEFAULT;
    rounds.push({
      sent: [...seconds.values()].map(({ sent }) => sent),
      admitted: [...seconds.values()].map(({ sent, refused }) => sent - refused),
      pressed_seconds: pressed.length,
      admitted_of_allowed: Number((admitted / allowed).toFixed(4)),
      counted_alone: (await countedAlone()) - alone,
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
