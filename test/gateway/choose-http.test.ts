import { expect, test } from "vitest";
import { chooseHttp } from "../../gateway/adapters/choose-http.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";

const NODE_22 = { node: "22.23.3", modules: "127" };

test.runIf(process.versions.modules === NODE_22.modules)(
  "runs on uWebSockets.js where it loads",
  async () => {
    const { listen, sentence } = await chooseHttp();
    expect(listen).not.toBe(listenNode);
    expect(sentence).toBe("HTTP by uWebSockets.js");
  },
);

test("runs on node:http where uWebSockets.js does not load, with the reason in one line", async () => {
  const reason = "This version supports only Node.js 18 to 22\n\nError: GLIBC_2.38 not found";
  const refused = (): Promise<never> => Promise.reject(new Error(reason));
  const { listen, sentence } = await chooseHttp(undefined, refused, NODE_22);
  expect(listen).toBe(listenNode);
  expect(sentence).toBe(
    "HTTP by node:http: uWebSockets.js does not load here (This version supports only Node.js 18 to 22); cached answers cost about twice the CPU time",
  );
});

test("runs on node:http on a Node without a build, which is not loaded", async () => {
  const loaded = (): Promise<never> => Promise.reject(new Error("it was loaded"));
  const { listen, sentence } = await chooseHttp(undefined, loaded, { node: "26.10.0", modules: "147" });
  expect(listen).toBe(listenNode);
  expect(sentence).toBe(
    "HTTP by node:http: uWebSockets.js has no build for Node 26.10.0; cached answers cost about twice the CPU time",
  );
});

test("runs on node:http where the operator wants it", async () => {
  expect(await chooseHttp({ isTls: false, isNode: true })).toEqual({
    listen: listenNode,
    sentence: "HTTP by node:http",
  });
});
