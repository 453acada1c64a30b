import { expect, test } from "vitest";
import { chooseHttp } from "../../gateway/adapters/choose-http.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";

test("runs on uWebSockets.js where it loads", async () => {
  const { listen, sentence } = await chooseHttp();
  expect(listen).not.toBe(listenNode);
  expect(sentence).toBe("HTTP by uWebSockets.js");
});

test("runs on node:http where uWebSockets.js does not load, with the reason in one line", async () => {
  const reason = "This version supports only Node.js 18 to 22\n\nError: GLIBC_2.38 not found";
  const { listen, sentence } = await chooseHttp(undefined, () => Promise.reject(new Error(reason)));
  expect(listen).toBe(listenNode);
  expect(sentence).toBe(
    "HTTP by node:http: uWebSockets.js does not load here (This version supports only Node.js 18 to 22)",
  );
});

test("runs on node:http where the operator wants it", async () => {
  expect(await chooseHttp({ isTls: false, isNode: true })).toEqual({
    listen: listenNode,
    sentence: "HTTP by node:http",
  });
});
