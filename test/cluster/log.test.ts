/** Log lines as operators' tools read them: one JSON object a line, and no secret in it. */
import { expect, test } from "vitest";
import { pinoLog } from "../../cluster/adapters/telemetry/log.pino.ts";

function lines() {
  const written: string[] = [];
  const fields: { node?: string } = {};
  const log = pinoLog({ level: "info", fields, write: { write: (line) => void written.push(line) } });
  return { log, fields, written, last: () => JSON.parse(written.at(-1)!) };
}

test("a line has its time, its level, its sentence, its fields, and the node once it is known", () => {
  const { log, fields, last } = lines();
  log.info("Starting");
  expect(last()).toEqual({ level: "info", time: expect.stringMatching(/^20.*Z$/), msg: "Starting" });
  fields.node = "n1";
  log.warn("A tier is unavailable", { tier: "archive", request_id: "req_1" });
  expect(last()).toMatchObject({ level: "warn", node: "n1", tier: "archive", request_id: "req_1" });
  log.debug("Too much");
  expect(last().msg).toBe("A tier is unavailable");
});

test("secrets are masked wherever they stand, and addresses lose their query and user", () => {
  const { log, written } = lines();
  log.error("A callback failed", {
    secret: "hidden-1",
    headers: { authorization: "Bearer hidden-2", accept: "*/*" },
    url: "https://user:hidden-3@client.example/hook?token=hidden-4#hidden-5",
    callback_url: "https://client.example/jobs?key=hidden-6",
    problem: new Error("It broke", { cause: new Error("because") }),
  });
  expect(written[0]).not.toContain("hidden");
  expect(JSON.parse(written[0]!)).toMatchObject({
    url: "https://client.example/hook",
    callback_url: "https://client.example/jobs",
    headers: { authorization: "[redacted]", accept: "*/*" },
    problem: { message: expect.stringContaining("It broke") },
  });
});
