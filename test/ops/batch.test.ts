/** trawl batch and trawl job, run as main.ts runs them, against a real socket and a terminal made of a list. */
import { describe, expect, test } from "vitest";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import { trawl } from "../../ops/cli.ts";
import { readItems } from "../../ops/commands/batch.ts";
import { progress, rateOf, span } from "../../ops/commands/progress.ts";
import { readConfig } from "../../ops/config.ts";
import type { Terminal } from "../../ops/terminal.ts";
import type { JobItem } from "../../schemas/jobs.ts";
import { batches } from "../harness/batch-harness.ts";

const counts = (done: number, failed = 0, total = 5_000) => ({
  total,
  pending: total - done - failed,
  queued: 0,
  done,
  failed,
  cancelled: 0,
});

describe("the bar", () => {
  const sights = [
    { at_ms: 0, finished: 0 },
    { at_ms: 50_000, finished: 1_000 },
    { at_ms: 70_000, finished: 1_250 },
  ];
  test.each([
    [counts(1_246, 4), sights, 80, /^█{6,8}.?░+ {2}1,250 of 5,000, 13\/s, 4 failed, 5 min left$/],
    [counts(0), [], 80, /^░{30} {2}0 of 5,000$/],
    [counts(5_000), sights, 80, /^█{30} {2}5,000 of 5,000, 13\/s$/],
    [counts(1_246, 4), sights, 40, /^1,250 of 5,000, 13\/s, 4 failed, 5 min l$/],
  ] as const)("%#", (how, seen, columns, expected) => {
    const line = progress(how, seen, columns);
    expect(line).toMatch(expected);
    expect(line.length).toBeLessThan(columns);
  });

  test("counts the pages of a crawl that are known, its limit at most", () => {
    const crawl = { ...counts(90, 0, 100), discovered: 1_400, excluded: 200 };
    expect(progress(crawl, [], 80, 5_000)).toMatch(/ 90 of 1,200$/);
    expect(progress(crawl, [], 80, 500)).toMatch(/ 90 of 500$/);
  });

  test("has the rate of the last half minute", () => {
    expect(rateOf(sights)).toBe(12.5);
    expect(rateOf(sights.slice(2))).toBeNull();
  });

  test.each([
    [0.2, "1 s"],
    [89, "89 s"],
    [300, "5 min"],
    [9_000, "2.5 h"],
  ])("%f seconds are %s", (seconds, expected) => {
    expect(span(seconds)).toBe(expected);
  });
});

test("lines are URLs, queries or objects; what is empty or begins with # is neither", () => {
  const text = '\uFEFFhttp://a.example/\r\n\n  # mine\n{"url":"http://b.example/","render":"never"}\n';
  expect(readItems(text, "fetch")).toEqual([
    { url: "http://a.example/" },
    { url: "http://b.example/", render: "never" },
  ]);
  expect(readItems("two words\n", "search")).toEqual([{ query: "two words" }]);
  expect(() => readItems("a\n{oops\n", "fetch")).toThrow("Cannot read line 2: it is not a JSON object");
});

/** The command beside a running service; time goes on while it sleeps. */
async function shell(files: Readonly<Record<string, string>>, { ms = 5, isPiped = true, error = "" } = {}) {
  const service = await batches({ ms, ...(error !== "" && { error }) });
  const { admit, failed, first, clock, documents } = service;
  const listening = await listenNode(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
  const environment = { TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: first };
  const drawn: string[] = [];
  let interrupt = (): void => {};
  let sleeps = 0;
  let leaves_after = Infinity;
  const terminal: Terminal = {
    isPiped,
    columns: isPiped ? null : 80,
    screen: null,
    draw: (line) => void drawn.push(line),
    onInterrupt(call) {
      interrupt = call;
      return { [Symbol.dispose]() {} };
    },
    read: async (path) => {
      if (!(path in files)) throw new Error("no such file");
      return files[path]!;
    },
    async sleep(for_ms) {
      if (++sleeps >= leaves_after) interrupt();
      await clock.advance(for_ms);
    },
    readSecret: () => Promise.reject(new Error("not here")),
    now: () => clock.now(),
  };
  const run = async (...words: string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await trawl(words, {
      environment,
      config: () => readConfig(environment),
      openDocuments: async () => ({ ...documents, close: async () => {} }),
      openNodeDirectory: () => Promise.reject(new Error("There is no bus here")),
      now: () => clock.now(),
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      terminal: () => terminal,
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
    });
    return { code, out, err: err.join("\n") };
  };
  return {
    ...service,
    run,
    drawn,
    leaveAfter: (n: number) => void ([sleeps, leaves_after] = [0, n]),
    close: () => listening.close(0),
  };
}

const list = (count: number) =>
  Array.from({ length: count }, (_, n) => `https://example.org/${n}\n`).join("");
const indexes = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as JobItem).index);

describe("trawl batch", () => {
  test("prints every item as it was submitted, when piped", async () => {
    const { run, close } = await shell({ "urls.txt": list(30) });
    const { code, out, err } = await run("batch", "urls.txt");
    expect([code, indexes(out)]).toEqual([0, [...Array(30).keys()]]);
    expect(JSON.parse(out[7]!)).toMatchObject({
      status: "done",
      input: { url: "https://example.org/7" },
      result: { text: "An example." },
    });
    expect(err).toMatch(/^Job [0-9a-f-]{36}, 30 items\ncompleted after .* s: 30 done, 0 failed$/);
    await close();
  });

  test("gives every item the fields of the flags, unless its line has them itself", async () => {
    const text = '{"url": "https://example.org/0", "render": "always"}\nhttps://example.org/1\n';
    const { run, close } = await shell({ "urls.txt": text });
    const { code, out } = await run("batch", "urls.txt", "--render", "never", "--no-pdf");
    expect([code, out.map((line) => (JSON.parse(line) as JobItem).input)]).toEqual([
      0,
      [
        { url: "https://example.org/0", render: "always", accept_pdf: false },
        { url: "https://example.org/1", render: "never", accept_pdf: false },
      ],
    ]);
    expect(await run("batch", "--search", "urls.txt", "--render", "never")).toMatchObject({
      code: 2,
      err: "Cannot run a batch: --render is not for a search",
    });
    await close();
  });

  test("draws a bar for people and prints no items", async () => {
    const { run, drawn, close } = await shell({ "-": list(40) }, { isPiped: false, ms: 400 });
    const { code, out, err } = await run("batch");
    expect([code, out]).toEqual([0, []]);
    expect(drawn.at(0)).toMatch(/^░+ {2}0 of 40/);
    expect(drawn.at(-1)).toBe("");
    expect(err).toContain("Its items: trawl job items ");
    await close();
  });

  test("continues the same job after Ctrl-C, from the same item", async () => {
    const { run, leaveAfter, documents, close } = await shell(
      { "urls.txt": list(64), "out.ndjson": "{}\n{}\n{}\n{ha" },
      { ms: 700 },
    );
    leaveAfter(3);
    const left = await run("batch", "urls.txt");
    expect(left.code).toBe(130);
    expect(left.out.length).toBeLessThan(64);
    expect(left.err).toMatch(/The job goes on\. To follow it: trawl job watch [0-9a-f-]{36}/);
    leaveAfter(Infinity);
    const resumed = await run("batch", "urls.txt", "--resume", "out.ndjson");
    expect([resumed.code, indexes(resumed.out).at(0), resumed.out.length]).toEqual([0, 3, 61]);
    expect(resumed.err).toContain("created before");
    expect((await documents.list("job_idempotency_keys", { limit: 10 })).length).toBe(1);
    await close();
  });

  test("ends with 3 when items failed", async () => {
    const { run, close } = await shell({ "urls.txt": list(2) }, { error: "http_404" });
    const { code, out, err } = await run("batch", "urls.txt");
    expect([code, out.map((line) => (JSON.parse(line) as JobItem).error)]).toEqual([
      3,
      ["http_404", "http_404"],
    ]);
    expect(err).toContain("0 done, 2 failed");
    await close();
  });

  test("searches for lines, and does not wait with --detach", async () => {
    const { run, close } = await shell({ "queries.txt": "one thing\nanother\n" });
    const { code, out } = await run("batch", "--search", "queries.txt");
    expect([code, out.map((line) => (JSON.parse(line) as any).result.query)]).toEqual([
      0,
      ["one thing", "another"],
    ]);
    const detached = await run("batch", "--search", "queries.txt", "--detach");
    expect(detached.out[0]).toMatch(/^[0-9a-f-]{36}$/);
    await close();
  });

  test.each([
    ["nowhere.txt", 2, 'Cannot read "nowhere.txt"'],
    ["empty.txt", 2, "Cannot run a batch: "],
    ["many.txt", 2, "Cannot run a batch of 50001 items"],
    ["bad.txt", 2, "items.1.max_bytes"],
  ])("reports the mistake of %s", async (file, code, expected) => {
    const { run, close } = await shell({
      "empty.txt": "# nothing\n",
      "many.txt": "u\n".repeat(50_001),
      "bad.txt": 'https://example.org/\n{"url":"u","max_bytes":0}\n',
    });
    const ended = await run("batch", file);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(expected);
    await close();
  });
});

describe("trawl job", () => {
  test("shows, cancels and verifies", async () => {
    const { run, clock, documents, close } = await shell({ "urls.txt": list(5) });
    const id = (await run("batch", "urls.txt", "--detach")).out[0]!;
    for (let n = 0; n < 10; n++) await clock.advance(200);
    expect((await run("job", "show", id)).out).toContain("done            5");
    expect(JSON.parse((await run("job", "show", id, "--json")).out.join("")).status).toBe("completed");
    expect((await run("job", "cancel", id)).out).toContain("status          completed");
    expect(indexes((await run("job", "items", id, "--from", "3")).out)).toEqual([3, 4]);
    const good = await run("job", "verify", id);
    expect([good.code, good.err]).toEqual([0, expect.stringContaining("All invariants hold")]);
    expect(good.err).toContain(
      "0 pending + 0 queued + 5 done + 0 failed + 0 cancelled = 5; 5 results, 5 metered",
    );
    await documents.removeRange("job_results", `${id}:00002`, `${id}:00003`);
    const bad = await run("job", "verify", id);
    expect([bad.code, bad.out[0]]).toEqual([1, "Item 2 is done without a result"]);
    expect((await run("job", "verify", "absent")).err).toContain('There is no job "absent"');
    expect((await run("job", "show", "01890000-0000-7000-8000-000000000000")).err).toBe("404: job not found");
    await close();
  });
});
