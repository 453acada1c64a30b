/**
 * @trawl/client as a stranger has it: packed, installed from the tarball in an empty folder, and used against a running service, on the packaged Node
 * and on each of /opt/nodes, which CI installs (test/harness/clients/client-program.txt). Its generated types are those of the service.
 */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALLS, WITHOUT_CALL } from "../../gateway/openapi/client-samples.ts";
import { generatedFiles } from "../../ops/clients/generated-files.ts";
import { packClient } from "../../ops/release/client-package.ts";
import { installed } from "../../ops/release/start-installed.ts";
import { archiveFile } from "../harness/clients/archive-file.ts";
import { heldJob } from "../harness/clients/held-job.ts";
import { type Program, startProgram } from "../harness/clients/running-program.ts";
import { OTHER_NODES } from "../harness/other-nodes.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { linkTo } from "../harness/tcp-link.ts";
import { article } from "../harness/web.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const run = promisify(execFile);
const environment = { PATH: process.env["PATH"]!, HOME: process.env["HOME"]! };
const NODES = [{ version: process.versions.node, node: process.execPath as string | null }, ...OTHER_NODES];
const MAX_BUNDLE_BYTES = 15_360;
const dist = mkdtempSync(join(tmpdir(), "trawl-client-"));
let packed = "";
let folder = "";

beforeAll(async () => {
  packed = packClient(ROOT, dist);
  folder = await installed(packed, environment);
  copyFileSync(join(ROOT, "test/harness/clients/client-program.txt"), join(folder, "program.mjs"));
}, 300_000);

afterAll(() => {
  for (const each of [dist, folder]) rmSync(each, { recursive: true, force: true });
});

describe("@trawl/client", () => {
  const { sites, service } = scenario(SETUPS.find(({ setup }) => setup === "embedded")!.start);
  test("has the types of the API as it is (npm run clients)", async () => {
    const { json } = await service.call("GET", "/openapi.json", { key: null });
    for (const [name, content] of generatedFiles(json, ROOT))
      expect(readFileSync(join(ROOT, name), "utf8") === content ? "fresh" : `${name} is old`).toBe("fresh");
  });

  test("has a call for each operation, or a reason why not", async () => {
    const { json } = await service.call("GET", "/openapi.json", { key: null });
    const operations = Object.values<object>(json.paths).flatMap((methods) =>
      Object.values<{ operationId: string }>(methods as {}).map(({ operationId }) => operationId),
    );
    expect([...Object.keys(CALLS), ...Object.keys(WITHOUT_CALL)].toSorted()).toEqual(operations.toSorted());
  });

  test("has at most 15 KB, compressed, and no dependency", async () => {
    const bundle = await rolldown({ input: join(dist, "client/dist/client.js"), platform: "browser" });
    const { output } = await bundle.generate({ minify: true });
    await bundle.close();
    expect(output.flatMap((file) => (file.type === "chunk" ? file.imports : []))).toEqual([]);
    expect(gzipSync(output[0].code).length).toBeLessThan(MAX_BUNDLE_BYTES);
    expect(statSync(packed).size).toBeLessThan(150_000);
  });

  test("compiles with a program, and not with a misspelt option or an error without a case", async () => {
    copyFileSync(join(ROOT, "test/harness/clients/client-types.txt"), join(folder, "types.ts"));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2022",
      lib: ["es2022", "dom", "dom.asynciterable"],
      module: "nodenext",
      types: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.ts"] }));
    const compiled = await run(process.execPath, [
      join(ROOT, "node_modules/typescript/bin/tsc"),
      "-p",
      folder,
    ]).catch((problem: { stdout: string }) => problem);
    expect(compiled.stdout).toBe("");
  });

  const missing = (node: string | null): string =>
    node === null ? " (needs it in /opt/nodes: .ci/run)" : "";

  for (const { version, node } of NODES)
    describe.skipIf(node === null)(`on Node ${version}${missing(node)}`, () => {
      const begin = (name: string, url: string, ...words: string[]): Program =>
        startProgram(node!, ["program.mjs", name, url, service.key, ...words], folder);

      test("makes each kind of call", async () => {
        const site = sites.site({
          "/": { body: article("Home").replace("/about", "/b") },
          "/b": { body: article("B").replace("/about", "/") },
          "/enter": { body: article("Enter"), headers: { "set-cookie": "key=1" } },
        });
        const lines = await begin("calls", service.url, site.origin).ended();
        const links = [`${site.origin}/`, `${site.origin}/b`];
        expect(lines).toEqual([
          { title: "Home", error: null, links: 2 },
          { total: 2, links },
          [
            ["crawl", 0, null],
            ["crawl", 1, null],
          ],
          { created: true, done: 2, finished: true },
          [1],
          { listed: true, jobs: true },
          [206, 4],
          { rows: true, usage: "object", quota: "object" },
          null,
          { label: "b", listed: true },
          { entered: null, label: "Shop", cookies: 1, secrets: ["pin"], sessions: 0 },
          [],
          { rate: 5, cap: null, rotated: true, actions: ["revoked", "rotated", "changed", "created"] },
        ]);
      });

      test(
        "takes results up after the service was killed in the middle of the job",
        { timeout: 120_000 },
        async () => {
          const { id, open, site } = await heldJob({ sites, service }, 12, 6);
          const program = begin("follow", service.url, id);
          await program.printed(6);
          await service.kill();
          open();
          await service.restart();
          expect(await program.ended()).toEqual(Array.from({ length: 12 }, (_, index) => [index, null]));
          expect(site.hits("/3")).toBe(1);
        },
      );

      // Scenarios of the table that hold on each Node are tried with the service on one.
      if (node !== process.execPath) return;

      test("imports an archive file, part by part", async () => {
        const path = archiveFile(folder);
        const lines = await begin("imports", service.url, path).ended();
        expect(lines).toEqual([[true, true], ["done", 1], true, false]);
      });

      test("fails with a code, and the id of the request where there was one", async () => {
        const lines = await begin("errors", service.url, "http://127.0.0.1:9").ended();
        const answered = { hasRequestId: true, places: [] };
        const unanswered = { status: null, hasRequestId: false, places: [] };
        expect(lines).toEqual([
          { code: "unauthorized", status: 401, ...answered },
          { code: "not_found", status: 404, ...answered },
          { code: "invalid_request", status: 422, hasRequestId: true, places: ["body.max_bytes"] },
          { code: "invalid_request", status: 422, hasRequestId: true, places: ["body.idempotency_key"] },
          { code: "connection", ...unanswered },
          { code: "aborted", ...unanswered },
          { code: "timeout", ...unanswered },
        ]);
      });

      test("waits as long as a 429 says", async () => {
        const { json } = await service.call("POST", "/v1/keys", {
          body: { project: "default", label: "slow", rate_limit_rps: 1 },
        });
        const refused = await service.meter("trawl_rate_limited_total");
        const lines = await startProgram(
          node!,
          ["program.mjs", "limited", service.url, json.key, "3"],
          folder,
        ).ended();
        expect(lines).toEqual([3]);
        expect(await service.meter("trawl_rate_limited_total")).toBeGreaterThan(refused);
      });

      test("takes results up where a connection was cut", async () => {
        const { id, open } = await heldJob({ sites, service }, 12, 6);
        const link = await linkTo(Number(new URL(service.url).port));
        const program = begin("follow", `http://127.0.0.1:${link.port}`, id);
        await program.printed(6);
        link.cut();
        link.heal({ reset: true });
        open();
        const lines = await program.ended();
        expect(lines).toEqual(Array.from({ length: 12 }, (_, index) => [index, null]));
        await link.close();
      });

      test("ends with a loop that is left, and with its signal", async () => {
        const { id, open } = await heldJob({ sites, service }, 3, 1);
        const lines = await begin("left", service.url, id).ended();
        expect(lines).toEqual([0, 0, { code: "aborted", status: null, hasRequestId: false, places: [] }]);
        open();
      });

      test("runs the lines of its README", async () => {
        const site = sites.site({ "*": { body: article("Example") } });
        const [, lines] = /```js\n([^]*?)```/.exec(
          readFileSync(join(ROOT, "clients/typescript/README.md"), "utf8"),
        )!;
        const program = lines!
          .replaceAll("http://127.0.0.1:8080", service.url)
          .replaceAll("https://example.org", site.origin);
        writeFileSync(join(folder, "readme.mjs"), program);
        const { stdout } = await run(node!, ["readme.mjs"], {
          cwd: folder,
          env: { ...environment, TRAWL_KEY: service.key },
        });
        expect(stdout).toContain("Example null");
        expect(stdout).toContain(`${site.origin}/ Example`);
        expect(stdout).toContain("done: 2");
        expect(stdout).toMatch(/not_found req_[0-9A-Z]{26}\n$/);
      });
    });
});
