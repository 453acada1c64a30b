/** trawl dead-letters: list, show, retry and delete, for people and as JSON. */
import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { deadLetterKeeper, MAX_MESSAGE_BYTES, readDeadLetter } from "../../cluster/dead-letters.ts";
import type { NodeDirectory } from "../../cluster/ports/node-directory.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

async function shell() {
  const documents = memoryDocuments();
  const { keep } = deadLetterKeeper({ documents, clock: virtualClock(NOW_MS), ...silentTelemetry() });
  const deadLetter = {
    actor: "domain",
    key: "example.org",
    operation: "release",
    problem: new TypeError("Bad slot"),
  };
  await keep({ ...deadLetter, message: { fetch_id: "f1" } });
  await keep({
    ...deadLetter,
    actor: "job",
    key: "j1",
    operation: "note",
    message: "x".repeat(MAX_MESSAGE_BYTES),
  });
  const run = async (...words: string[]) => {
    const output = { out: "", err: "", code: 0 };
    output.code = await trawl(["dead-letters", ...words], {
      environment: {},
      config: () => readConfig({}),
      openDocuments: async () => ({ ...documents, close: async () => {} }),
      openNodeDirectory: async () => ({}) as NodeDirectory,
      now: () => NOW_MS,
      out: (line) => void (output.out += `${line}\n`),
      err: (line) => void (output.err += `${line}\n`),
      starting: () => Promise.reject(new Error("Nothing is started here")),
      version: "0.1.0",
    });
    return output;
  };
  return { run, documents };
}

test("lists them newest first, without their contents", async () => {
  const { run } = await shell();
  const { out } = await run();
  expect(out.split("\n").slice(0, 3)).toEqual([
    "ID  GIVEN UP                  TO                  OPERATION  STATE  PROBLEM",
    "1   2026-01-01T00:00:00.000Z  job/j1              note       kept   TypeError: Bad slot",
    "0   2026-01-01T00:00:00.000Z  domain/example.org  release    kept   TypeError: Bad slot",
  ]);
  const listed = JSON.parse((await run("list", "--actor", "domain", "--json")).out) as object[];
  expect(listed).toMatchObject([{ id: 0, given_up_at: "2026-01-01T00:00:00.000Z", operation: "release" }]);
  expect(listed[0]).not.toHaveProperty("message");
});

test("shows one with its message", async () => {
  const { run } = await shell();
  expect((await run("show", "0")).out).toContain('message: {"fetch_id":"f1"}');
  expect(JSON.parse((await run("show", "0", "--json")).out)).toMatchObject({ message: { fetch_id: "f1" } });
  expect(await run("show", "7")).toMatchObject({ code: 1, err: "There is no dead letter 7\n" });
  expect(await run("show", "x")).toMatchObject({ code: 2 });
});

test("marks one for the running nodes, unless its content was not kept", async () => {
  const { run, documents } = await shell();
  expect(JSON.parse((await run("retry", "0", "--json")).out)).toEqual({ id: 0, state: "retry" });
  expect((await readDeadLetter(documents, 0))?.deadLetter.state).toBe("retry");
  expect(await run("retry", "1")).toMatchObject({
    code: 1,
    err: `Dead letter 1 cannot be sent again: its ${MAX_MESSAGE_BYTES + 2} bytes were not kept\n`,
  });
});

test("deletes one for good", async () => {
  const { run } = await shell();
  expect(JSON.parse((await run("delete", "0", "--json")).out)).toEqual({ id: 0, deleted: true });
  expect(await run("delete", "0")).toMatchObject({ code: 1 });
  await run("delete", "1");
  expect(await run("list")).toMatchObject({ code: 0, out: "", err: "There are no dead letters\n" });
});
