import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { inlineWorkers } from "../../cluster/adapters/workers/workers.inline.ts";
import { rssMb } from "../../cluster/adapters/workers/process-usage.ts";
import { type ProcessWorkers, processWorkers } from "../../cluster/adapters/workers/workers.processes.ts";
import type { PoolSettings, Workers } from "../../cluster/ports/workers.ts";
import { workersSuite } from "./workers.ts";
import { tasks, WARM_UP_MESSAGES } from "./workers.tasks.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const POOL: PoolSettings = {
  size: 1,
  warm: 1,
  idle_ms: 30_000,
  heap_mb: 64,
  max_rss_mb: 512,
  replace_above_rss_mb: 300,
  cpu_ms: 10_000,
  wall_ms: 60_000,
  stuck_ms: 15_000,
  max_tasks: 1_000,
};

function processes(limits: Partial<PoolSettings> = {}, queue_limit = 1_000): ProcessWorkers {
  const pools = { plain: { ...POOL, ...limits }, warmed: { ...POOL, ...limits } };
  const url = new URL("./workers.tasks.ts", import.meta.url);
  const workers = processWorkers({ tasks: url, pools, queue_limit, ...silentTelemetry() });
  onTestFinished(() => workers.close());
  return workers;
}

const ADAPTERS: Record<string, () => Workers> = {
  inline: () => inlineWorkers(tasks),
  processes: () =>
    processWorkers({
      tasks: new URL("./workers.tasks.ts", import.meta.url),
      pools: { plain: POOL },
      queue_limit: 10,
      ...silentTelemetry(),
    }),
};

describe.each(Object.entries(ADAPTERS))("workers %s", (_, open) => {
  workersSuite(open);
});

const ECHO = { do: "echo", value: 1 };
const ECHOED = { kind: "done", value: 1 };

async function pidOf(workers: Workers): Promise<number> {
  const work = await workers.run<number>("plain", { do: "what", of: "pid" });
  if (work.kind === "failed") throw new Error(work.detail);
  return work.value;
}

const exists = (pid: number) => {
  try {
    // A zombie is gone; it waits to be read.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

const childrenOf = (parent: number) =>
  readdirSync("/proc").filter((pid) => {
    try {
      return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) === parent;
    } catch {
      return false;
    }
  });

async function untilAsync(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 15_000; !(await holds());) {
    if (Date.now() > end) throw new Error("Waited 15 s");
  }
}

async function until(holds: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 5_000; !holds(); await promisify(setImmediate)()) {
    if (Date.now() > end) throw new Error(`Waited 5 s for ${what}`);
  }
}

describe("workers in processes", () => {
  test("cut off a task that hangs, and do the next in a fresh child", async () => {
    const workers = processes({ cpu_ms: 400 });
    const before = await pidOf(workers);
    expect(await workers.run("plain", { do: "hang" })).toEqual({
      kind: "failed",
      reason: "timeout",
      detail: "not done in 400 ms of CPU time",
    });
    const after = await pidOf(workers);
    expect(after).not.toBe(before);
    await until(() => !exists(before), "the child that hung to be gone");
  });

  test("cut off a task that waits for what never comes", async () => {
    const workers = processes({ stuck_ms: 500 });
    const work = await workers.run("plain", { do: "wait", ms: 60_000 });
    expect(work).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
  });

  test("leave a task alone that takes longer than its CPU time, but uses less", async () => {
    const workers = processes({ cpu_ms: 300 });
    expect(await workers.run("plain", { do: "wait", ms: 1_000 })).toEqual({ kind: "done", value: "waited" });
  });

  test("give up a task that the machine gives too little CPU time, which is not its own fault", async () => {
    const workers = processes({ wall_ms: 300 });
    const work = await workers.run("plain", { do: "wait", ms: 60_000 });
    expect(work).toMatchObject({ kind: "failed", reason: "starved" });
    expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
  });

  test("start no child before the first task, and keep as many as stay warm after it", async () => {
    const before = childrenOf(process.pid);
    const started = () => childrenOf(process.pid).filter((pid) => !before.includes(pid));
    const workers = processes({ size: 2, warm: 1, idle_ms: 50 });
    expect(started()).toEqual([]);
    const both = [
      workers.run("plain", { do: "wait", ms: 500 }),
      workers.run("plain", { do: "wait", ms: 500 }),
    ];
    await until(() => started().length === 2, "the second child");
    await Promise.all(both);
    await until(() => started().length === 1, "one of two idle children to be gone");
    expect(String(await pidOf(workers))).toBe(started()[0]);
  });

  test("start children when tasks wait, and end them when none came for a while", async () => {
    const before = childrenOf(process.pid);
    const started = () => childrenOf(process.pid).filter((pid) => !before.includes(pid));
    const workers = processes({ size: 2, warm: 0, idle_ms: 50 });
    expect(started()).toEqual([]);
    // Each waits until the other has begun, so one child is not enough.
    const pids = await Promise.all([pidOf(workers), pidOf(workers), pidOf(workers)]);
    expect(new Set(pids).size).toBeLessThanOrEqual(2);
    await until(() => !pids.some(exists), "the idle children to be gone");
    expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
  });

  test.each(["arrays", "strings", "buffers", "one_buffer"])(
    "recognise a task that exhausts memory in %s",
    async (what) => {
      const workers = processes({ cpu_ms: 15_000 });
      expect(await workers.run("plain", { do: what })).toMatchObject({
        kind: "failed",
        reason: "out_of_memory",
      });
      expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
    },
  );

  test.each([
    ["exit", "ended with code 7"],
    ["abort", "ended by SIGABRT"],
  ])("survive a task that ends by %s", async (what, how) => {
    const workers = processes();
    const work = await workers.run("plain", { do: what });
    expect(work).toMatchObject({ kind: "failed", reason: "crashed" });
    expect(work.kind === "failed" && work.detail).toContain(how);
    expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
  });

  test("replace a child that has grown, and one that has grown old", async () => {
    const workers = processes({ max_rss_mb: 2_000, max_tasks: 2 });
    const grown = await workers.run<number>("plain", { do: "grow" });
    const young = await pidOf(workers);
    expect(grown.kind === "done" && grown.value).not.toBe(young);
    expect(await pidOf(workers)).toBe(young);
    expect(await pidOf(workers)).not.toBe(young);
  });

  interface Count {
    readonly pid: number;
    /** Tasks and messages of the warm-up that its child carried out before. */
    readonly before: number;
  }
  const countOf = async (workers: Workers): Promise<Count> => {
    const work = await workers.run<Count>("warmed", { do: "count" });
    if (work.kind === "failed") throw new Error(work.detail);
    return work.value;
  };

  test("carry out the first task during the warm-up of the only child, and go on with the warm-up", async () => {
    const workers = processes();
    expect((await countOf(workers)).before).toBeLessThan(WARM_UP_MESSAGES);
    let last = 0;
    await untilAsync(async () => (last = (await countOf(workers)).before) > WARM_UP_MESSAGES);
    expect(last).toBeGreaterThan(WARM_UP_MESSAGES);
  });

  test("start and warm a child before the first task when told to", async () => {
    const before = childrenOf(process.pid);
    const started = () => childrenOf(process.pid).filter((pid) => !before.includes(pid));
    const workers = processes();
    workers.warmUp("warmed");
    workers.warmUp("warmed");
    await until(() => started().length > 0, "the child");
    expect(String((await countOf(workers)).pid)).toBe(started()[0]);
    expect(started()).toHaveLength(1);
  });

  test("keep a child that has grown until another is warm, which gets no task before", async () => {
    const workers = processes({ max_rss_mb: 2_000 });
    let asked = 0;
    await untilAsync(async () => (await countOf(workers)).before - asked++ >= WARM_UP_MESSAGES);
    const { pid } = await countOf(workers);
    expect(await workers.run("warmed", { do: "grow" })).toMatchObject({ kind: "done", value: pid });
    const counts: Count[] = [];
    await untilAsync(async () => {
      counts.push(await countOf(workers));
      return counts.at(-1)!.pid !== pid;
    });
    expect(counts.length).toBeGreaterThan(1);
    expect(counts.at(-1)!.before).toBe(WARM_UP_MESSAGES);
  });

  test("set options of V8 in a child, and start it where V8 does not know one", async () => {
    const gcOf = (workers: Workers) => workers.run("plain", { do: "what", of: "gc" });
    expect(await gcOf(processes())).toEqual({ kind: "done", value: "undefined" });
    const v8_flags = ["--no-such-option=1", "--expose-gc"];
    expect(await gcOf(processes({ v8_flags }))).toEqual({ kind: "done", value: "function" });
  });

  test("give the memory of garbage back when no task comes, and keep it where no rest is set", async () => {
    const limits = { heap_mb: 256, max_rss_mb: 1_000, replace_above_rss_mb: 1_000 };
    const pools = [processes(limits), processes({ ...limits, rest_ms: 50 })];
    const littered = await Promise.all(
      pools.map((workers) => workers.run<[pid: number]>("plain", { do: "litter" })),
    );
    const [busy, rested] = littered.map((work) => (work.kind === "done" ? work.value[0] : 0)) as [
      number,
      number,
    ];
    await until(() => rssMb(rested)! < rssMb(busy)! - 32, "the memory of a child at rest");
    expect(await Promise.all(pools.map((workers) => pidOf(workers)))).toEqual([busy, rested]);
  });

  test("start a task in a child that is not warm when the warm one has died", async () => {
    const workers = processes({ max_tasks: 2 });
    const first = await countOf(workers);
    expect(await workers.run("warmed", { do: "exit" })).toMatchObject({ reason: "crashed" });
    expect((await countOf(workers)).pid).not.toBe(first.pid);
  });

  test("refuse one task more than may wait", async () => {
    const workers = processes({}, 2);
    await pidOf(workers);
    const works = Array.from({ length: 4 }, () => workers.run("plain", { do: "wait", ms: 50 }));
    expect((await Promise.all(works)).map((work) => (work.kind === "done" ? "done" : work.reason))).toEqual([
      "done",
      "done",
      "done",
      "full",
    ]);
  });

  test("refuse the newest task of the tenant with the most, when another's comes", async () => {
    const workers = processes({}, 3);
    await pidOf(workers);
    const cancel = new AbortController();
    const run = (tenant: string, message: unknown) =>
      workers.run("plain", message, { tenant, signal: cancel.signal });
    const loud = Array.from({ length: 4 }, () => run("loud", { do: "wait", ms: 60_000 }));
    const quiet = Array.from({ length: 2 }, () => run("quiet", { do: "wait", ms: 60_000 }));
    expect(await loud[3]).toMatchObject({ kind: "failed", reason: "full" });
    // Each would have one task that waits less than the other: now the newcomer is refused.
    expect(await quiet[1]).toMatchObject({ kind: "failed", reason: "full" });
    cancel.abort();
    expect(await Promise.all([loud[0], loud[1], loud[2], quiet[0]])).toMatchObject(
      Array.from({ length: 4 }, () => ({ reason: "aborted" })),
    );
  });

  test("serve the tenant first that has used less CPU time, whatever the others have waiting", async () => {
    const workers = processes();
    const order: string[] = [];
    const run = async (tenant: string, message: unknown) => {
      await workers.run("plain", message, { tenant });
      order.push(tenant);
    };
    const loud = Array.from({ length: 5 }, () => run("loud", { do: "work", ms: 100 }));
    const quiet = Array.from({ length: 5 }, () => run("quiet", ECHO));
    await Promise.all([...loud, ...quiet]);
    expect(order.join(" ")).toBe(["loud", ...quiet.map(() => "quiet"), "loud loud loud loud"].join(" "));
  });

  test("read a neighbour's page beside 20 hostile documents when one of them has ended, not when all have", async () => {
    const workers = processes({ cpu_ms: 300 });
    const cancel = new AbortController();
    let ended = 0;
    const hostile = Array.from({ length: 20 }, async () => {
      const cut = await workers.run("plain", { do: "hang" }, { tenant: "hostile", signal: cancel.signal });
      ended++;
      return cut;
    });
    expect(await workers.run("plain", ECHO, { tenant: "neighbour" })).toEqual(ECHOED);
    expect(ended).toBe(1);
    cancel.abort();
    expect(await Promise.all(hostile)).toMatchObject(
      hostile.map((_, n) => ({ kind: "failed", reason: n === 0 ? "timeout" : "aborted" })),
    );
  });

  test("let a caller cancel while its task waits, and never start it", async () => {
    const workers = processes();
    const first = workers.run("plain", { do: "wait", ms: 100 });
    const leaving = new AbortController();
    const second = workers.run("plain", { do: "exit" }, { signal: leaving.signal });
    leaving.abort();
    expect(await second).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(await first).toMatchObject({ kind: "done" });
    expect(await workers.run("plain", ECHO)).toEqual(ECHOED);
  });

  test("let a caller cancel while its task runs; a task that ends soon keeps its child, a longer one does not", async () => {
    const workers = processes({ cpu_ms: 20_000 });
    const pid = await pidOf(workers);
    for (const [message, expected] of [
      [{ do: "wait", ms: 30 }, true],
      [{ do: "hang" }, false],
    ] as const) {
      const leaving = new AbortController();
      const work = workers.run("plain", message, { signal: leaving.signal });
      leaving.abort();
      expect(await work).toMatchObject({ kind: "failed", reason: "aborted" });
      expect((await pidOf(workers)) === pid).toBe(expected);
    }
  });

  test("do 500 tasks on two children, each its own answer", async () => {
    const workers = processes({ size: 2 });
    const works = Array.from({ length: 500 }, (_, value) => workers.run("plain", { do: "echo", value }));
    const values = (await Promise.all(works)).map((work) => work.kind === "done" && work.value);
    expect(values).toEqual(Array.from({ length: 500 }, (_, value) => value));
  });

  test.each([
    [{ do: "exit" }, "crashed"],
    [{ do: "hang" }, "timeout"],
    [{ do: "echo", value: () => 1 }, "threw"],
    [{ do: "uncloneable" }, "threw"],
  ])("fail the task of a batch that breaks it, %j, and no other of the batch", async (culprit, reason) => {
    const workers = processes({ cpu_ms: 400 });
    // Short tasks of a tenant that wait behind one another become a batch.
    await Promise.all(Array.from({ length: 8 }, () => workers.run("plain", ECHO)));
    const first = workers.run("plain", { do: "wait", ms: 50 });
    const messages = [ECHO, ECHO, culprit, ECHO, ECHO];
    const results = await Promise.all(messages.map((message) => workers.run("plain", message)));
    expect(await first).toMatchObject({ kind: "done" });
    const broke = { kind: "failed", reason };
    expect(results).toMatchObject([ECHOED, ECHOED, broke, ECHOED, ECHOED]);
  });

  test("tell what is read before a slow task of the same batch", async () => {
    const workers = processes();
    await Promise.all(Array.from({ length: 8 }, () => workers.run("plain", ECHO)));
    const cancel = new AbortController();
    const first = workers.run("plain", { do: "wait", ms: 50 });
    const quick = workers.run("plain", ECHO);
    const slow = workers.run("plain", { do: "wait", ms: 600_000 }, { signal: cancel.signal });
    await first;
    expect(await quick).toEqual(ECHOED);
    cancel.abort();
    expect(await slow).toMatchObject({ reason: "aborted" });
  });

  test("do the tasks of others while one of their pool hangs and another crashes", async () => {
    const workers = processes({ size: 3, cpu_ms: 1_500 });
    const hung = workers.run("plain", { do: "hang" });
    const crashed = workers.run("plain", { do: "exit" });
    const echoed = Array.from({ length: 50 }, () => workers.run("plain", ECHO));
    expect(await Promise.all(echoed)).toEqual(Array.from({ length: 50 }, () => ECHOED));
    expect([await hung, await crashed]).toMatchObject([{ reason: "timeout" }, { reason: "crashed" }]);
  });

  test("answer what waits and what runs when they are closed, and leave no child behind", async () => {
    const before = childrenOf(process.pid);
    const workers = processes({ size: 2 });
    await pidOf(workers);
    const works = Array.from({ length: 4 }, () => workers.run("plain", { do: "hang" }));
    await workers.close();
    expect((await Promise.all(works)).map((work) => work.kind === "failed" && work.reason)).toEqual(
      Array.from({ length: 4 }, () => "aborted"),
    );
    expect(childrenOf(process.pid).filter((pid) => !before.includes(pid) && exists(Number(pid)))).toEqual([]);
  });

  test("answer when no child can start, instead of starting one after another", async () => {
    const url = new URL("./workers.tasks.ts", import.meta.url);
    const telemetry = silentTelemetry();
    const workers = processWorkers({ tasks: url, pools: { broken: POOL }, queue_limit: 9, ...telemetry });
    onTestFinished(() => workers.close());
    const works = await Promise.all([workers.run("broken", {}), workers.run("broken", {})]);
    expect(works).toMatchObject([
      { kind: "failed", reason: "unavailable" },
      { kind: "failed", reason: "unavailable" },
    ]);
    expect(works[0].kind === "failed" && works[0].detail).toContain("Cannot load the library");
    expect(telemetry.lines).toMatchObject([
      {
        message: "A worker process cannot start",
        fields: {
          task: "broken",
          cause: "ended with code 1",
          stderr: expect.stringMatching(/Error: Cannot load the library\n +at .*workers\.tasks\.ts/),
        },
      },
    ]);
  });

  test("answer at once after three starts in a row without a child, and log the first", async () => {
    const url = new URL("./workers.tasks.ts", import.meta.url);
    const telemetry = silentTelemetry();
    const workers = processWorkers({ tasks: url, pools: { broken: POOL }, queue_limit: 9, ...telemetry });
    onTestFinished(() => workers.close());
    const reasons: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      const work = await workers.run("broken", {});
      reasons.push(work.kind === "failed" && work.reason);
    }
    expect(reasons).toEqual(["unavailable", "unavailable", "cannot_start"]);
    let isAnswered = false;
    void workers.run("broken", {}).then(() => (isAnswered = true));
    await promisify(setImmediate)();
    expect(isAnswered).toBe(true);
    expect(telemetry.lines).toHaveLength(1);
  });

  test("give a child nothing of the environment, and neither files nor processes nor the network", async () => {
    const workers = processes();
    expect(await workers.run("plain", { do: "what", of: "environment" })).toEqual({
      kind: "done",
      value: ["MALLOC_ARENA_MAX"],
    });
    expect(await workers.run("plain", { do: "what", of: "forbidden" })).toEqual({
      kind: "done",
      value: {
        read: "ERR_ACCESS_DENIED",
        write: "ERR_ACCESS_DENIED",
        start: "ERR_ACCESS_DENIED",
        fetch: "ReferenceError",
      },
    });
  });

  test("own the bytes that came through the pipe, so that a parser may take them without a copy", async () => {
    const workers = processes();
    const work = await workers.run("plain", { do: "length", bytes: Buffer.alloc(65_536) });
    expect(work).toMatchObject({ kind: "done", value: { bytes: 65_536, own: true } });
  });
});

function temporary(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "trawl-workers-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const HOST_OF_LINKS = `
  import { processWorkers } from "./cluster/adapters/workers/workers.processes.ts";
  import { silentTelemetry } from "./cluster/adapters/telemetry/telemetry.silent.ts";
  const pools = { plain: ${JSON.stringify(POOL)} };
  const tasks = new URL("./tasks.js", import.meta.url);
  const workers = processWorkers({ tasks, pools, queue_limit: 10, ...silentTelemetry() });
  process.stdout.write(JSON.stringify(await workers.run("plain", {})));
  await workers.close();
`;

const HOST = fileURLToPath(new URL("./workers.host.ts", import.meta.url));

describe("a service with workers in processes", () => {
  test("ends by itself when nothing runs: idle children do not keep the process alive", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [HOST, "idle"]);
    expect(stdout).toBe('{"kind":"done","value":1}\n');
  });

  test("starts children without a module that it was started with and that they may not read", async () => {
    const folder = temporary();
    const module = join(folder, "monitoring.mjs");
    writeFileSync(module, "");
    const { stdout } = await promisify(execFile)(process.execPath, [`--import=${module}`, HOST, "idle"]);
    expect(stdout).toBe('{"kind":"done","value":1}\n');
  });

  test("starts children that read packages where links in node_modules lead, and those beside them", async () => {
    const [project, elsewhere] = [temporary(), temporary()];
    const files = {
      [join(elsewhere, "node_modules/linked/index.js")]: 'module.exports = require("beside");',
      [join(elsewhere, "node_modules/beside/index.js")]: 'module.exports = "beside";',
      [join(elsewhere, "own/index.js")]: 'module.exports = "own";',
      [join(project, "package.json")]: '{ "type": "module" }',
      [join(project, "tasks.js")]:
        'import linked from "linked"; import own from "@scope/own"; export const tasks = { plain: async () => () => [linked, own] };',
      [join(project, "host.ts")]: HOST_OF_LINKS,
      [join(project, "node_modules/@scope/README.md")]: "",
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    symlinkSync(join(elsewhere, "node_modules/linked"), join(project, "node_modules/linked"));
    symlinkSync(join(elsewhere, "own"), join(project, "node_modules/@scope/own"));
    symlinkSync(join(elsewhere, "nothing"), join(project, "node_modules/nothing"));
    cpSync(fileURLToPath(new URL("../../cluster", import.meta.url)), join(project, "cluster"), {
      recursive: true,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [join(project, "host.ts")]);
    expect(stdout).toBe('{"kind":"done","value":["beside","own"]}');
  });

  // Elsewhere a hanging child is left to the supervisor (cluster/adapters/workers/workers.processes.ts, starter).
  test.runIf(existsSync("/usr/bin/setpriv"))(
    "takes its children along when it is killed, also one that hangs",
    async () => {
      const host = fork(HOST, ["hang"], { stdio: "ignore", execArgv: [] });
      const [pids] = (await once(host, "message")) as [number[]];
      expect(pids.every(exists)).toBe(true);
      host.kill("SIGKILL");
      await until(() => !pids.some(exists), "the children to be gone");
    },
  );
});
