/**
 * node bench/company-crash.ts [--companies n] [--cluster]: kill -9 of a node in the middle of refreshes. A batch job fetches n
 * companies from an invented register, a second one refreshes them after every name has changed; each time a node is killed when
 * half of the companies were asked for, and another is started. Then every company must have one `created` and one `updated` in the
 * change feed and two claims of its name, one of them closed. One process on the embedded engines, or three nodes with engines of
 * their own. The register's limit is five requests a second, so 500 companies (1,000 refreshes) take about four minutes.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { clusterOf } from "../test/harness/cluster-of.ts";
import { freePort } from "../test/harness/free-port.ts";
import { answering } from "./harness.ts";

const { values: options } = parseArgs({
  options: { companies: { type: "string", default: "500" }, cluster: { type: "boolean", default: false } },
});
const count = Number(options.companies);
const MAX_ROUND_MS = 900_000;
const LOOK_EVERY_MS = 250;
const MAX_START_TRIES = 6;

/** A number with its Luhn digit. */
function sirenOf(index: number): string {
  const first = String(10_000_000 + index);
  const sum = first.split("").reduce((all, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return all + (value > 9 ? value - 9 : value);
  }, 0);
  return `${first}${(10 - (sum % 10)) % 10}`;
}

let round = 0;
/** By round: what was asked for. */
const asked = [new Set<string>(), new Set<string>()];
const register = createServer((request, response) => {
  const siren = new URL(request.url!, "http://register").searchParams.get("q")!;
  asked[round]!.add(siren);
  const company = {
    siren,
    nom_complet: `Societe ${siren}${round === 0 ? "" : " Neuve"}`,
    etat_administratif: "A",
    date_creation: "2004-05-06",
    nature_juridique: "5710",
  };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: [company] }));
}).listen(0, "127.0.0.1");
await once(register, "listening");
const environment = {
  TRAWL_RECHERCHE_ENTREPRISES_URL: `http://127.0.0.1:${(register.address() as AddressInfo).port}`,
};

interface Running {
  readonly call: (
    method: "GET" | "POST",
    path: string,
    body?: object,
  ) => Promise<{ status: number; json: any }>;
  /** kill -9 of a node, and another one instead. */
  readonly replaceNode: () => Promise<void>;
  readonly close: () => Promise<void>;
}

async function oneProcess(): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "company-crash-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const key = "ak_crash_0123456789abcdefghij";
  async function start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "ops/main.ts", "start"], {
      stdio: "ignore",
      env: {
        ...process.env,
        ...environment,
        PORT: String(port),
        TRAWL_DATA_DIR: folder,
        TRAWL_ADMIN_KEY: key,
        TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
        TRAWL_CHROMIUM_PATH: "none",
      },
    });
    // It waits ten seconds, and a busy machine takes longer to start a service.
    for (let tries = 1; ; tries++)
      try {
        await answering(`${url}/health`);
        return child;
      } catch (problem) {
        if (tries === MAX_START_TRIES) throw problem;
      }
  }
  let child = await start();
  const kill = async (): Promise<void> => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return {
    async call(method, path, body) {
      const reply = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: reply.status, json: await reply.json() };
    },
    async replaceNode() {
      await kill();
      child = await start();
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

async function threeNodes(): Promise<Running> {
  const cluster = await clusterOf(["gateway,worker", "worker", "worker"], {
    own: ["documents", "blobs"],
    environment,
  });
  assert(cluster, "Engines are missing: npm run engines -- --install-only");
  await cluster.settled();
  return {
    call: cluster.insist,
    async replaceNode() {
      await cluster.nodes.findLast((node) => node.isRunning())!.kill();
      await cluster.add("worker");
    },
    close: cluster.close,
  };
}

const { call: send, replaceNode, close } = await (options.cluster ? threeNodes() : oneProcess());
/** A request beyond the rate of the project is sent again. */
const call: Running["call"] = async (...request) => {
  for (;;) {
    const answer = await send(...request);
    if (answer.status !== 429) return answer;
    await sleep(LOOK_EVERY_MS);
  }
};
try {
  const refs = Array.from({ length: count }, (_, index) => `fr_siren:${sirenOf(index)}`);
  const began = performance.now();
  for (const action of ["get", "refresh"]) {
    const items = refs.map((ref) => ({ ref }));
    const { job_id } = (await call("POST", "/v1/companies/batch", { idempotency_key: action, action, items }))
      .json;
    let isKilled = false;
    for (const started = performance.now(); ; await sleep(LOOK_EVERY_MS)) {
      assert(performance.now() - started < MAX_ROUND_MS, `The job "${action}" does not end`);
      if (!isKilled && asked[round]!.size >= count / 2) {
        await replaceNode();
        isKilled = true;
      }
      const { status, counts } = (await call("GET", `/v1/jobs/${job_id}`)).json;
      if (status !== "completed") continue;
      assert.deepEqual([isKilled, counts.done, counts.failed], [true, count, 0]);
      break;
    }
    round = Math.min(1, round + 1);
  }

  const changes = new Map<string, string[]>();
  let last = 0;
  for (let cursor = ""; ;) {
    const page = (await call("GET", `/v1/companies/changes?limit=500${cursor && `&cursor=${cursor}`}`)).json;
    for (const { id, company_id, type } of page.items) {
      const seq = Number.parseInt(id.replace("chg_", ""), 36);
      assert.equal(seq, last + 1, "The feed has a gap");
      last = seq;
      changes.set(company_id, [...(changes.get(company_id) ?? []), type]);
    }
    cursor = page.next_cursor;
    if (page.items.length === 0 && last >= 2 * count) break;
    if (page.items.length === 0) await sleep(LOOK_EVERY_MS);
    assert(performance.now() - began < 2 * MAX_ROUND_MS, `The feed has only ${last} of ${2 * count} changes`);
  }
  let [lost, doubled] = [0, 0];
  for (const ref of refs) {
    const { company_id, items } = (await call("GET", `/v1/companies/${ref}/history?field=names.legal`)).json;
    const types = changes.get(company_id) ?? [];
    const siren = ref.slice("fr_siren:".length);
    const names = items.map(({ value, current }: { value: string; current: boolean }) => [value, current]);
    const wanted = [
      [`Societe ${siren} Neuve`, true],
      [`Societe ${siren}`, false],
    ];
    if (types.length < 2 || names.length < 2) lost++;
    else if (types.length > 2 || names.length > 2) doubled++;
    else assert.deepEqual([types, names], [["created", "updated"], wanted]);
  }
  const result = {
    setup: options.cluster ? "three nodes" : "one process",
    companies: count,
    refreshes: 2 * count,
    kills: 2,
    changes: last,
    lost,
    doubled,
    seconds: Math.round((performance.now() - began) / 1_000),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (lost + doubled > 0 || changes.size !== count) process.exitCode = 1;
} finally {
  await close();
  register.close();
}
