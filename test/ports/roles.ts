/** Promises of a call to an actor that is placed by role, on any assembly of nodes. */
import { Type } from "typebox";
import { afterAll, expect, test } from "vitest";
import type { Cluster } from "../../cluster/embedded.ts";
import type { CallerSession, RoleActor, RoleDefinition, RoleLoad } from "../../cluster/role-actor.ts";
import { roleActor } from "../../cluster/role-actor.ts";
import { Bytes, call, contract } from "../../cluster/contracts/contract.ts";

export const Work = contract(
  "work",
  {
    run: call(
      Type.Object({ item: Type.String() }),
      Type.Object({ by: Type.String(), bytes: Bytes() }),
      Type.Object({ may: Type.String() }),
      Type.Boolean(),
    ),
  },
  {},
  { placement: { role: "work" } },
);
type Run = RoleDefinition<typeof Work.operations>["on"]["run"];

const FREE: RoleLoad = { capacity: 4, in_use: 0, waiting: 0, breaker: "closed" };

export interface Member {
  readonly roles: Cluster["roles"];
  readonly stop: (limit_ms?: number) => Promise<void>;
  /** As kill -9; absent where there is only one process. */
  readonly kill?: () => Promise<void>;
}

export interface Assembly {
  /** A node with these actors. */
  readonly node: (actors: readonly RoleActor[]) => Promise<Member>;
  /** Where calls are made: a node of its own, or the only one. */
  readonly caller: (workers: readonly RoleActor[]) => Promise<Member>;
  readonly close: () => Promise<void>;
}

export const worker = (run: Run, load: () => RoleLoad = () => FREE): RoleActor =>
  roleActor(Work)({ load, on: { run } });

const done = (by: string, bytes = Buffer.from("ok")) => ({ kind: "done", reply: { by, bytes } }) as const;

interface Made {
  readonly session?: Partial<CallerSession<{ may: string }, boolean>>;
  readonly signal?: AbortSignal;
  readonly item?: string;
}

export const make = (
  { roles }: Pick<Member, "roles">,
  { session = {}, signal = new AbortController().signal, item = "one" }: Made = {},
) =>
  roles.call(
    Work,
    "run",
    { item },
    {
      signal,
      deadline_ms: Date.now() + 60_000,
      open: () => ({ answer: () => true, close: () => {}, mayRepeat: () => true, ...session }),
    },
  );

/** A node serves, and it or another one calls. */
export function rolesSuite(open: () => Promise<Assembly>): void {
  const opened: Assembly[] = [];
  afterAll(() => Promise.all(opened.map(({ close }) => close())));
  async function caller(...workers: RoleActor[]): Promise<Member> {
    const assembly = await open();
    opened.push(assembly);
    return assembly.caller(workers);
  }

  test.each([10, 200_000, 1_000_000])("a reply with %i bytes comes whole", async (size) => {
    const bytes = Buffer.alloc(size, "é");
    const result = await make(await caller(worker(async () => done("a", bytes))));
    expect(result).toMatchObject({ kind: "done", reply: { by: "a" } });
    expect(result.kind === "done" && result.reply.bytes.equals(bytes)).toBe(true);
  });

  test("the actor may ask its caller while it works", async () => {
    const asked: string[] = [];
    const at = await caller(
      worker(async ({ item }, { ask }) => done(`${item} ${await ask({ may: "start" }, 5_000)}`)),
    );
    const session = { answer: ({ may }: { may: string }) => asked.push(may) > 0 };
    expect(await make(at, { session })).toMatchObject({ reply: { by: "one true" } });
    expect(asked).toEqual(["start"]);
  });

  test("a caller that leaves aborts the work", async () => {
    const [begun, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const at = await caller(
      worker((_, { signal }) => {
        begun.resolve();
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            aborted.resolve();
            resolve(done("late"));
          }),
        );
      }),
    );
    const leaving = new AbortController();
    let closed = 0;
    const made = make(at, { signal: leaving.signal, session: { close: () => void closed++ } });
    await begun.promise;
    leaving.abort();
    await aborted.promise;
    expect(["lost", "done"]).toContain((await made).kind);
    expect(closed).toBe(1);
  });

  test("backpressure and a provider that is down are answers", async () => {
    const busy = { kind: "busy", capacity: 3 } as const;
    expect(await make(await caller(worker(async () => busy)))).toEqual(busy);
    const down = { kind: "unavailable", reason: "refused", retry_after_ms: 5_000 } as const;
    expect(await make(await caller(worker(async () => down)))).toEqual(down);
  });

  test("without a node that has the role the call comes back at once", async () => {
    const began = performance.now();
    expect(await make(await caller())).toEqual({ kind: "no_node" });
    expect(performance.now() - began).toBeLessThan(2_500);
  });
}

/** Several nodes serve. */
export function manyNodesSuite(open: () => Promise<Assembly>): void {
  const opened: Assembly[] = [];
  afterAll(() => Promise.all(opened.map(({ close }) => close())));
  async function world(...workers: RoleActor[]) {
    const assembly = await open();
    opened.push(assembly);
    const nodes: Member[] = [];
    for (const each of workers) nodes.push(await assembly.node([each]));
    const caller = await assembly.caller([]);
    await expect.poll(() => caller.roles.hasRole("work"), { timeout: 5_000 }).toBe(workers.length > 0);
    return { nodes, caller };
  }
  /** Works until it is told to end. */
  function endless(name: string) {
    const begun = Promise.withResolvers<AbortSignal>();
    const end = Promise.withResolvers<void>();
    let calls = 0;
    const run: Run = async (_, { signal }) => {
      calls++;
      begun.resolve(signal);
      await end.promise;
      return done(name);
    };
    return { actor: worker(run), begun: begun.promise, end: end.resolve, calls: () => calls };
  }

  test("a full or broken node is left out, and another one takes the call", async () => {
    const full = worker(
      async () => ({ kind: "busy", capacity: 1 }),
      () => ({ ...FREE, capacity: 1 }),
    );
    const broken = worker(async () => ({ kind: "unavailable", reason: "down", retry_after_ms: 1 }));
    const { caller } = await world(
      full,
      broken,
      worker(async () => done("free")),
    );
    for (let n = 0; n < 6; n++) expect(await make(caller)).toMatchObject({ reply: { by: "free" } });
  });

  test("the less loaded node gets the call", async () => {
    const loaded = worker(
      async () => done("loaded"),
      () => ({ ...FREE, in_use: 4, waiting: 8 }),
    );
    const { caller } = await world(
      loaded,
      worker(async () => done("idle")),
    );
    await expect
      .poll(async () => (await make(caller)).kind === "done" && caller.roles.hasRole("work"))
      .toBe(true);
    const by = await Promise.all(Array.from({ length: 3 }, () => make(caller)));
    expect(by.map((each) => each.kind === "done" && each.reply.by)).toEqual(["idle", "idle", "idle"]);
  });

  test("a node that is killed fails its calls at once, and another node is tried", async () => {
    const [first, second] = [endless("first"), endless("second")];
    const { nodes, caller } = await world(first.actor, second.actor);
    const made = make(caller);
    const at = await Promise.race([first.begun.then(() => 0), second.begun.then(() => 1)]);
    await nodes[at]!.kill!();
    await (at === 0 ? second : first).begun;
    second.end();
    first.end();
    expect(await made).toMatchObject({ kind: "done", reply: { by: at === 0 ? "second" : "first" } });
  }, 20_000);

  test("a call that may not be repeated is lost with its node", async () => {
    const [first, second] = [endless("first"), endless("second")];
    const { nodes, caller } = await world(first.actor, second.actor);
    const made = make(caller, { session: { mayRepeat: () => false } });
    const at = await Promise.race([first.begun.then(() => 0), second.begun.then(() => 1)]);
    await nodes[at]!.kill!();
    expect(await made).toMatchObject({ kind: "lost" });
    expect(first.calls() + second.calls()).toBe(1);
  }, 20_000);

  test("a node that drains ends the calls it has and takes no more", async () => {
    const leaving = endless("leaving");
    const { nodes, caller } = await world(leaving.actor);
    const made = make(caller);
    await leaving.begun;
    const stopped = nodes[0]!.stop(10_000);
    await expect.poll(() => caller.roles.hasRole("work")).toBe(false);
    expect(await make(caller)).toEqual({ kind: "no_node" });
    leaving.end();
    await stopped;
    expect(await made).toMatchObject({ kind: "done", reply: { by: "leaving" } });
  }, 20_000);

  test("a call that outlasts the drain of its node is lost", async () => {
    const leaving = endless("leaving");
    const { nodes, caller } = await world(leaving.actor);
    const made = make(caller);
    await leaving.begun;
    await nodes[0]!.stop(10);
    expect(await made).toMatchObject({ kind: "lost" });
    leaving.end();
  }, 20_000);

  test("the work of a caller whose node is killed is aborted", async () => {
    const orphan = endless("orphan");
    const { caller } = await world(orphan.actor);
    void make(caller);
    const signal = await orphan.begun;
    await caller.kill!();
    await expect.poll(() => signal.aborted, { timeout: 10_000 }).toBe(true);
    orphan.end();
  }, 20_000);
}
