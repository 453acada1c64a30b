/** Remote tasks between nodes over a real NATS, and the route browser on top of them, which keeps its rules with the worker. */
import { afterAll, describe, expect, test } from "vitest";
import type { Admission, OriginAnswer, Transport, TransportResult } from "../../actors/lib/web/transport.ts";
import { BROWSER_TASK, remoteBrowser, renderTask } from "../../actors/tiers/adapters/transport.remote.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { natsRemoteTasks } from "../../cluster/adapters/nodes/role-workers.nats.ts";
import type { RemoteTasks } from "../../cluster/ports/role-workers.ts";
import { engines } from "../harness/engines.ts";

const { bus } = await engines("bus");
let clusters = 0;

describe.skipIf(bus === null)("remote tasks over NATS", () => {
  const opened: RemoteTasks[] = [];
  afterAll(() => Promise.all(opened.map((one) => one.close(0))));

  /** Nodes of a cluster of their own. */
  async function nodes(count: number): Promise<RemoteTasks[]> {
    const address = `${bus!["TRAWL_BUS"]}/tasks-${process.pid}-${clusters++}`;
    const all = await Promise.all(Array.from({ length: count }, () => natsRemoteTasks(address)));
    opened.push(...all);
    return all;
  }
  const nobodyAsks = { answer: async () => "", signal: new AbortController().signal };

  test("are run by one of the workers, which may ask the caller", async () => {
    const [sender, ...runners] = await nodes(4);
    for (const runner of runners)
      await runner.serve("sum", 2, async ({ body, ask }) => `${body}+${await ask("how much?", 1_000)}`);
    const asked: string[] = [];
    const send = (body: string) =>
      sender!.send("sum", body, {
        ...nobodyAsks,
        answer: async (question) => `${asked.push(question)}`,
      });
    expect(await send("1")).toEqual({ kind: "done", body: "1+1" });
    expect(await send("2")).toEqual({ kind: "done", body: "2+2" });
    expect(asked).toEqual(["how much?", "how much?"]);
  });

  test("without a worker come back at once", async () => {
    const [sender] = await nodes(1);
    const began = performance.now();
    expect(await sender!.send("sum", "", nobodyAsks)).toEqual({ kind: "no_worker" });
    expect(performance.now() - began).toBeLessThan(1_500);
  });

  test("wait for a busy worker, and are lost with a failing one", async () => {
    const [sender, runner] = await nodes(2);
    const door = Promise.withResolvers<string>();
    let runs = 0;
    await runner!.serve("wait", 1, async () => {
      if (runs++ === 0) return door.promise;
      throw new Error("Not again");
    });
    const first = sender!.send("wait", "", nobodyAsks);
    await expect.poll(() => runs).toBe(1);
    const second = sender!.send("wait", "", nobodyAsks);
    door.resolve("done");
    expect(await first).toEqual({ kind: "done", body: "done" });
    expect(await second).toEqual({ kind: "lost" });
  });

  test("in hand are finished before a runner closes", async () => {
    const [sender, runner] = await nodes(2);
    const [begun, door] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    await runner!.serve("last", 1, () => {
      begun.resolve();
      return door.promise;
    });
    const sent = sender!.send("last", "", nobodyAsks);
    await begun.promise;
    const closed = runner!.close();
    door.resolve("done");
    await closed;
    expect(await sent).toEqual({ kind: "done", body: "done" });
    expect(await sender!.send("last", "", nobodyAsks)).toEqual({ kind: "no_worker" });
  });

  test("are lost at once when their runner closes before they are done", async () => {
    const [sender, runner] = await nodes(2);
    const begun = Promise.withResolvers<void>();
    await runner!.serve("hang", 1, () => new Promise(() => begun.resolve()));
    const sent = sender!.send("hang", "", nobodyAsks);
    await begun.promise;
    await runner!.close(0);
    expect(await sent).toEqual({ kind: "lost" });
  }, 15_000);

  test("end for both when the sender leaves", async () => {
    const [sender, runner] = await nodes(2);
    const left = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    await runner!.serve("cancel", 1, ({ signal }) => {
      begun.resolve();
      signal.addEventListener("abort", () => left.resolve());
      return new Promise(() => {});
    });
    const leaving = new AbortController();
    const sent = sender!.send("cancel", "", { ...nobodyAsks, signal: leaving.signal });
    await begun.promise;
    leaving.abort();
    expect(await sent).toEqual({ kind: "lost" });
    await left.promise;
  });

  test("of more than 256 KB are refused, on either side", async () => {
    const [sender, runner] = await nodes(2);
    await runner!.serve("large", 1, async () => "x".repeat(300_000));
    await expect(sender!.send("large", "x".repeat(300_000), nobodyAsks)).rejects.toMatchObject({
      code: "message_too_large",
    });
    expect(await sender!.send("large", "", nobodyAsks)).toEqual({ kind: "lost" });
  });

  describe("the route browser of another node", () => {
    async function worker(page: Transport | null) {
      const [here, there] = await nodes(2);
      const blobs = memoryBlobs();
      const clock = systemClock();
      if (page) await there!.serve(BROWSER_TASK, 2, renderTask({ transport: page, blobs, clock }));
      const route = remoteBrowser({ remoteTasks: here!, blobs, clock });
      const left: OriginAnswer[] = [];
      let may = true;
      const visit = (url: string, enter?: (url: string) => Promise<Admission>): Promise<TransportResult> =>
        route({
          url,
          max_bytes: 2 ** 20,
          accept_language: null,
          user_agent: null,
          country: null,
          validators: null,
          signal: AbortSignal.timeout(10_000),
          admit:
            enter ??
            (async () => ({
              kind: "admitted",
              beforeSend: () => may,
              onSent: () => {},
              release: (answer) => void left.push(answer),
            })),
        });
      return { visit, left, forbid: () => void (may = false) };
    }

    const gone = { redirects: [], final_url: null, ms: 1 } as const;
    /** A browser that asks for one document and has it, of so many bytes. */
    const page =
      (bytes: number): Transport =>
      async ({ url, admit: enter }) => {
        const entry = await enter(url);
        if (entry.kind === "refused") return { kind: "refused", refusal: entry.refusal, ...gone };
        if (!(await entry.beforeSend()))
          return { kind: "failed", reason: "timeout", status: null, detail: null, ...gone };
        entry.release({ status: 200, retry_after_s: null });
        const body = Buffer.alloc(bytes, "é");
        const headers = new Map([["content-type", "text/html"]]);
        return {
          kind: "page",
          status: 200,
          headers,
          body,
          body_kind: "rendered_dom",
          ...gone,
          final_url: url,
        };
      };

    test.each([10, 200_000, 1_000_000])("brings pages of %i bytes whole", async (bytes) => {
      const { visit, left } = await worker(page(bytes));
      const answer = await visit("http://one.test/");
      expect(answer).toMatchObject({ kind: "page", status: 200, body_kind: "rendered_dom" });
      if (answer.kind !== "page") return;
      expect(answer.body.equals(Buffer.alloc(bytes, "é"))).toBe(true);
      expect(answer.headers.get("content-type")).toBe("text/html");
      expect(left).toEqual([{ status: 200, retry_after_s: null }]);
    });

    test("asks the worker's domain, and takes its no", async () => {
      const { visit } = await worker(page(10));
      const refusal = {
        error: "domain_busy",
        step: "politeness",
        reason: "domain_busy",
        retry_after_s: 3,
        detail: null,
      } as const;
      expect(await visit("http://one.test/", async () => ({ kind: "refused", refusal }))).toMatchObject({
        kind: "refused",
        refusal,
      });
    });

    test("sends nothing when the worker may not start any more, and hands the slot back", async () => {
      const { visit, left, forbid } = await worker(page(10));
      forbid();
      expect(await visit("http://one.test/")).toMatchObject({ kind: "failed", reason: "timeout" });
      expect(left).toEqual([{ status: null, retry_after_s: null }]);
    });

    test("that no node has is unavailable", async () => {
      const { visit, left } = await worker(null);
      expect(await visit("http://one.test/")).toMatchObject({
        kind: "failed",
        reason: "browser_unavailable",
      });
      expect(left).toEqual([]);
    });
  });
});
