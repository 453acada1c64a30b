/** trawl incident and trawl maintenance: what operators announce on the status page. */
import { describe, expect, test } from "vitest";
import { readNotices } from "../../actors/business/status/notices.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";

const NOON_MS = Date.parse("2026-11-23T12:00:00Z");

function shell() {
  const documents = memoryDocuments();
  const time = { now_ms: NOON_MS };
  const run = async (...words: string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await trawl(words, {
      environment: {},
      config: () => readConfig({}),
      openDocuments: async () => ({ ...documents, close: async () => {} }),
      openNodeDirectory: () => Promise.reject(new Error("There is no bus here")),
      now: () => time.now_ms,
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  };
  const json = async (...words: string[]) => JSON.parse((await run(...words, "--json")).out);
  return { run, json, documents, time };
}

const OPEN = [
  "incident",
  "open",
  "Slow fetches",
  "--message",
  "We look at it",
  "--components",
  "fetch,company_gleif",
];
const WINDOW = ["--from", "2026-11-23T13:00+01:00", "--to", "2026-11-23T13:00:00Z"];

describe("trawl incident", () => {
  test("is opened, moved forward, and resolved", async () => {
    const { json, run, time } = shell();
    const opened = await json(...OPEN, "--impact", "partial_outage");
    expect(opened).toMatchObject({
      title: "Slow fetches",
      status: "investigating",
      impact: "partial_outage",
      components: ["fetch", "company_gleif"],
      created_at: "2026-11-23T12:00:00.000Z",
      resolved_at: null,
      updates: [{ at: "2026-11-23T12:00:00.000Z", status: "investigating", message: "We look at it" }],
    });
    time.now_ms += 60_000;
    const found = [
      "incident",
      "update",
      opened.id,
      "--message",
      "Found it",
      "--status",
      "monitoring",
      "--impact",
      "none",
    ];
    expect(await json(...found)).toMatchObject({ status: "monitoring", impact: "none" });
    const back = await run("incident", "update", opened.id, "--message", "No", "--status", "identified");
    expect([back.code, back.err]).toEqual([
      1,
      `The incident "${opened.id}" is monitoring: it cannot go back to identified`,
    ]);
    const resolved = await json("incident", "resolve", opened.id, "--message", "Fixed");
    expect(resolved).toMatchObject({ status: "resolved", resolved_at: "2026-11-23T12:01:00.000Z" });
    expect(resolved.updates.map((update: { message: string }) => update.message)).toEqual([
      "Fixed",
      "Found it",
      "We look at it",
    ]);
    const again = await run("incident", "update", opened.id, "--message", "More");
    expect([again.code, again.err]).toEqual([1, `The incident "${opened.id}" is resolved`]);
    expect((await run("incident", "list")).out).toContain(`${opened.id}  resolved  none`);
  });

  test.each([
    [["open", "T", "--message", "m", "--components", "fetsch"], 1, 'There is no component "fetsch"'],
    [["open", " ", "--message", "m", "--components", "fetch"], 1, "The title is empty"],
    [["open", "T", "--message", "x".repeat(2_001), "--components", "fetch"], 1, "at most 2000"],
    [["open", "T", "--message", "m"], 2, "--components"],
    [["open", "T", "--message", "m", "--components", "fetch", "--impact", "bad"], 2, "partial_outage"],
    [["open", "T", "--message", "m", "--components", "fetch", "--status", "resolved"], 2, "investigating"],
    [["resolve", "inc_0", "--message", "m"], 1, 'There is no notice "inc_0"'],
  ])("%j is refused", async (words, code, expected) => {
    const answer = await shell().run("incident", ...words);
    expect([answer.code, answer.out]).toEqual([code, ""]);
    expect(answer.err).toContain(expected);
  });
});

describe("trawl maintenance", () => {
  test("is scheduled, and completed before its time", async () => {
    const { json, run, documents, time } = shell();
    const scheduled = await json("maintenance", "schedule", "Move", "--message", "New disks", ...WINDOW);
    expect(scheduled).toMatchObject({
      status: "in_progress",
      components: [],
      starts_at: "2026-11-23T12:00:00.000Z",
      ends_at: "2026-11-23T13:00:00.000Z",
    });
    expect((await run("maintenance", "list")).out).toContain("in_progress  all");
    time.now_ms += 60_000;
    const completed = await json("maintenance", "complete", scheduled.id, "--message", "Done");
    expect(completed).toMatchObject({ status: "completed", completed_at: "2026-11-23T12:01:00.000Z" });
    const again = await run("maintenance", "complete", scheduled.id, "--message", "Done");
    expect([again.code, again.err]).toEqual([1, `The maintenance "${scheduled.id}" is completed`]);
    expect((await readNotices(documents)).maintenance).toEqual([completed]);
  });

  test.each([
    [["--from", "2026-11-24T22:00", "--to", "2026-11-24T23:00Z"], 2, "with its offset"],
    [["--from", "2026-11-24T23:00Z", "--to", "2026-11-24T22:00Z"], 1, "must end after it starts"],
    [["--from", "2026-11-22T22:00Z", "--to", "2026-11-22T23:00Z"], 1, "over already"],
  ])("%j is refused", async (words, code, expected) => {
    const answer = await shell().run("maintenance", "schedule", "T", "--message", "m", ...words);
    expect(answer.code).toBe(code);
    expect(answer.err).toContain(expected);
  });
});
