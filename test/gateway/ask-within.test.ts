/** A route that asks others in its caller's name: what holds for a request of its own holds for each of these. */
import { expect, test } from "vitest";
import type { AskWithin } from "../../gateway/route.ts";
import { route } from "../../gateway/route.ts";
import { json } from "../../gateway/http-errors.ts";
import { wholeReply } from "../../gateway/reply-bytes.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

type Asked = readonly Parameters<AskWithin>[0][];

/** A gateway with a route that makes these requests, one after the other, and answers with what came. */
const asking = (asked: Asked) =>
  gatewayHarness({
    more: [
      route({
        method: "POST",
        path: "/v1/outer",
        operationId: "outer",
        summary: "Asks others",
        tags: ["test"],
        replies: { 200: { description: "What they answered" } },
        async handle({ askWithin }) {
          const answers = [];
          for (const request of asked) {
            const reply = await askWithin(request);
            answers.push([reply.status, JSON.parse((await wholeReply(reply)).toString() || "null")]);
          }
          return json(200, answers);
        },
      }),
    ],
  });

const FETCH = { method: "POST", path: "/v1/fetch", body: { url: "https://example.org/" } } as const;

test("each has a request id, a row and a bill of its own; the call around it has none", async () => {
  const gateway = await asking([FETCH, FETCH]);
  const { json: answers } = await gateway.call("POST", "/v1/outer");
  expect(answers).toMatchObject([
    [200, { url: FETCH.body.url }],
    [200, { url: FETCH.body.url }],
  ]);
  const { json: requests } = await gateway.call("GET", "/v1/requests");
  const ids = answers.map(([, answer]: [number, { request_id: string }]) => answer.request_id);
  expect(requests.items.map(({ request_id }: { request_id: string }) => request_id).toSorted()).toEqual(
    ids.toSorted(),
  );
});

test("the first counts in no window of requests, for the call did; the next ones count", async () => {
  const gateway = await asking([FETCH, FETCH]);
  const { json: made } = await gateway.call("POST", "/v1/keys", {
    body: { project: "default", rate_limit_rps: 3 },
  });
  const limited = async () =>
    (await gateway.call("POST", "/v1/outer", { key: made.key })).json.map(([status]: [number]) => status);
  expect(await limited()).toEqual([200, 200]);
  expect(await limited()).toEqual([200, 429]);
});

test("its shape, its category and its permission are checked; operators' and open operations are not found", async () => {
  const gateway = await asking([
    { ...FETCH, body: { url: 7 } },
    { method: "GET", path: "/v1/ops/nodes" },
    { method: "GET", path: "/health" },
    { method: "GET", path: "/v1/requests?limit=x" },
    { method: "GET", path: "/v1/nowhere" },
  ]);
  const { json: answers } = await gateway.call("POST", "/v1/outer");
  expect(answers.map(([status]: [number]) => status)).toEqual([422, 404, 404, 422, 404]);
});
