/** The conformance suite of the Model Context Protocol against /mcp, with the failures that are expected in test/harness/mcp-conformance.yml. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const CONFORMANCE = "/opt/mcp-conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js";
const EXPECTED = fileURLToPath(new URL("../harness/mcp-conformance.yml", import.meta.url));
const run = promisify(execFile);

describe.runIf(existsSync(CONFORMANCE)).each(SETUPS)(
  "the protocol's conformance suite, $setup (needs @modelcontextprotocol/conformance)",
  ({ start }) => {
    const { service } = scenario(start, () => ({}));
    /** The suite sends no credentials. */
    let proxy: Server;
    beforeAll(async () => {
      proxy = createServer((asked, reply) => {
        const { port } = new URL(service.url);
        const headers = { ...asked.headers, authorization: `Bearer ${service.key}` };
        const passed = request({ port, host: "127.0.0.1", path: asked.url!, method: asked.method!, headers });
        passed.on("response", (answer) => {
          reply.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(reply);
        });
        passed.on("error", () => reply.destroy());
        reply.on("close", () => passed.destroy());
        asked.pipe(passed);
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    });
    afterAll(() => {
      proxy.closeAllConnections();
      proxy.close();
    });

    test("has no failure but the expected ones, and each of those", async () => {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
      const words = ["server", "--url", url, "--suite", "all", "--expected-failures", EXPECTED];
      const { code, stdout } = await run(process.execPath, [CONFORMANCE, ...words]).then(
        ({ stdout: text }) => ({ code: 0, stdout: text }),
        (problem: { code: number; stdout: string; stderr: string }) => ({
          code: problem.code,
          stdout: problem.stdout + problem.stderr,
        }),
      );
      const problems = code === 0 ? "" : stdout.slice(stdout.indexOf("=== SUMMARY"));
      expect({ code, problems }).toEqual({ code: 0, problems: "" });
      expect(stdout).toContain("✓ dns-rebinding-protection: 2 passed, 0 failed");
    });
  },
);
