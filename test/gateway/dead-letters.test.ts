/** /v1/ops/dead-letters: what the service gave up, listed without contents, sent again once, deleted. */
import { expect, test } from "vitest";
import { DEAD_LETTERS, type DeadLetter, slotOf } from "../../cluster/dead-letters.ts";
import { deadLetterRoutes } from "../../gateway/routes/dead-letters.ts";
import { gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";

const PATH = "/v1/ops/dead-letters";
const letter = (id: number, changes: Partial<DeadLetter> = {}): DeadLetter => ({
  id,
  at_ms: NOON_MS,
  actor: "domain",
  key: "example.org",
  operation: "released",
  message: '{"of":"a message"}',
  bytes: 18,
  problem: "TypeError: broken\n    at a line",
  retries: 0,
  state: "kept",
  ...changes,
});

test("dead letters are listed without contents, sent again once, and deleted, by operators alone", async () => {
  const { documents, call, key, operator } = await gatewayHarness({
    more: ({ documents: of }) => deadLetterRoutes({ documents: of }),
  });
  const standard = await key();
  const as = (who: string) => (method: "GET" | "POST" | "DELETE", path: string) =>
    call(method, path, { key: who });
  const ask = as(operator);
  for (const each of [letter(3), letter(501, { message: null, bytes: 70_000 })])
    await DEAD_LETTERS.put(documents, slotOf(each.id), each, 0);

  expect((await as(standard)("GET", PATH)).json.detail.error).toBe("operator_only");
  const { json, bytes } = await ask("GET", PATH);
  expect(json.dead_letters.map(({ id }: DeadLetter) => id)).toEqual([501, 3]);
  expect(json.dead_letters[1].given_up_at).toBe(new Date(NOON_MS).toISOString());
  expect(bytes.toString()).not.toContain("a message");

  expect((await ask("GET", `${PATH}/3`)).json.message).toBe('{"of":"a message"}');
  // The slot of 1 holds 501.
  for (const [method, id, status] of [
    ["GET", "1", 404],
    ["DELETE", "1", 404],
    ["POST", "501", 409],
    ["GET", "x", 422],
    ["POST", "3", 200],
    ["DELETE", "501", 200],
    ["DELETE", "501", 404],
  ] as const)
    expect([method, id, (await ask(method, `${PATH}/${id}`)).status]).toEqual([method, id, status]);
  expect((await ask("GET", PATH)).json.dead_letters).toMatchObject([{ id: 3, state: "retry" }]);
});
