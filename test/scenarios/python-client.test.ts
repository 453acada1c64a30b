/**
 * trawl-client as a stranger has it: built as a wheel, installed in an empty environment, and used against a running service (test/harness/clients/client-program.py). CI installs
 * Python's tools and frameworks in /opt/python-client (`.ci/run`); `PYTHON_CLIENT` names another place.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newWebhookSecret, signatureHeaders } from "../../actors/work/callbacks/webhook-signature.ts";
import { packPythonClient } from "../../ops/release/python-package.ts";
import { archiveFile } from "../harness/clients/archive-file.ts";
import { heldJob } from "../harness/clients/held-job.ts";
import { type Program, startProgram } from "../harness/clients/running-program.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { linkTo } from "../harness/tcp-link.ts";
import { article } from "../harness/web.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const TOOLS = process.env["PYTHON_CLIENT"] ?? "/opt/python-client";
const python = join(TOOLS, "bin/python");
/** The cache of packages that mypy has read in earlier runs. */
const MYPY_CACHE = `--cache-dir=${join(tmpdir(), "trawl-mypy-client")}`;
const hasTools = existsSync(python) && existsSync(join(TOOLS, "node_modules/pyright"));
const run = promisify(execFile);

describe.skipIf(!hasTools)("trawl-client (needs the packages of .ci/run in /opt/python-client)", () => {
  const { sites, service } = scenario(SETUPS.find(({ setup }) => setup === "embedded")!.start);
  const folder = mkdtempSync(join(tmpdir(), "trawl-python-"));
  const program = join(ROOT, "test/harness/clients/client-program.py");
  const stranger = join(folder, "venv/bin/python");

  beforeAll(async () => {
    const wheel = packPythonClient(ROOT, folder, python);
    await run(python, ["-m", "venv", join(folder, "venv")]);
    await run(stranger, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const begin = (name: string, url: string, ...words: string[]): Program =>
    startProgram(stranger, [program, name, url, service.key, ...words], folder);

  /** Where frameworks are installed, with the package of the environment. */
  const beginWithFrameworks = (name: string, ...words: string[]): Program =>
    startProgram(python, [program, name, service.url, service.key, ...words], folder, {
      ...process.env,
      PYTHONPATH: join(folder, "python/src"),
    });

  test("passes mypy --strict and pyright in strict mode", { timeout: 600_000 }, async () => {
    const cwd = join(folder, "python");
    const mypy = await run(join(TOOLS, "bin/mypy"), [MYPY_CACHE], { cwd }).catch((problem) => problem);
    expect(mypy.stdout).toMatch(/^Success: no issues found/);
    const words = [join(TOOLS, "node_modules/pyright/index.js"), "--pythonpath", python];
    const pyright = await run(process.execPath, words, { cwd }).catch((problem) => problem);
    expect(pyright.stdout).toContain("0 errors, 0 warnings");
  });

  test(
    "is refused by a type checker with a misspelt option or an error without a case",
    { timeout: 120_000 },
    async () => {
      const source = readFileSync(join(ROOT, "test/harness/clients/client_types.py.txt"), "utf8");
      const file = join(folder, "types_of_program.py");
      writeFileSync(file, source);
      const words = [MYPY_CACHE, "--strict", "--python-executable", stranger, "--allow-untyped-calls", file];
      const { stdout } = await run(join(TOOLS, "bin/mypy"), words, { cwd: folder }).catch(
        (problem) => problem,
      );
      const refused = [...String(stdout).matchAll(/types_of_program\.py:(\d+): error/g)].map(([, line]) =>
        Number(line),
      );
      const expected = source.split("\n").flatMap((line, n) => (line.endsWith("# error") ? [n + 1] : []));
      expect([...new Set(refused)]).toEqual(expected);
    },
  );

  test("makes each kind of call", async () => {
    const site = sites.site({
      "/": { body: article("Home").replace("/about", "/b") },
      "/b": { body: article("B").replace("/about", "/") },
      "/enter": { body: article("Enter"), headers: { "set-cookie": "key=1" } },
    });
    const crawled = [
      ["crawl", 0, null],
      ["crawl", 1, null],
    ];
    expect(await begin("calls", service.url, site.origin).ended()).toEqual([
      { title: "Home", error: null, links: 2 },
      { total: 2, links: [`${site.origin}/`, `${site.origin}/b`] },
      crawled,
      { created: true, done: 2, finished: true },
      [1],
      { listed: true, jobs: true },
      4,
      { rows: true, usage: true, quota: true },
      null,
      { label: "b", listed: true },
      { entered: null, label: "Shop", cookies: 1, secrets: ["pin"], sessions: 0 },
      [],
      { rate: 5, cap: null, rotated: true, actions: ["revoked", "rotated", "changed", "created"] },
    ]);
  });

  test("imports an archive file, part by part", async () => {
    const path = archiveFile(folder);
    const lines = await begin("imports", service.url, path).ended();
    expect(lines).toEqual([[true, true], ["done", 1], true, false]);
  });

  test("makes calls together with asyncio", async () => {
    const site = sites.site({ "*": { body: article("Home").replace("/about", "/") } });
    expect(await begin("async_calls", service.url, site.origin).ended()).toEqual([
      ["Home", "Home", "Home"],
      [["crawl", 0, null]],
      true,
    ]);
  });

  test("fails with a code, and the id of the request where there was one", async () => {
    const answered = { hasRequestId: true, places: [] };
    expect(await begin("errors", service.url, "http://127.0.0.1:9").ended()).toEqual([
      { code: "unauthorized", status: 401, ...answered },
      { code: "not_found", status: 404, ...answered },
      { code: "invalid_request", status: 422, hasRequestId: true, places: ["body.max_bytes"] },
      { code: "invalid_request", status: 422, hasRequestId: true, places: ["body.idempotency_key"] },
      { code: "connection", status: null, hasRequestId: false, places: [] },
    ]);
  });

  test("waits as long as a 429 says", async () => {
    const { json } = await service.call("POST", "/v1/keys", {
      body: { project: "default", label: "slow", rate_limit_rps: 1 },
    });
    const refused = await service.meter("trawl_rate_limited_total");
    const limited = startProgram(stranger, [program, "limited", service.url, json.key, "3"], folder);
    expect(await limited.ended()).toEqual([3]);
    expect(await service.meter("trawl_rate_limited_total")).toBeGreaterThan(refused);
  });

  for (const name of ["follow", "async_follow"]) {
    const all = Array.from({ length: 12 }, (_, index) => [index, null]);

    test(`takes results up where a connection was cut (${name})`, async () => {
      const { id, open } = await heldJob({ sites, service }, 12, 6);
      const link = await linkTo(Number(new URL(service.url).port));
      const following = begin(name, `http://127.0.0.1:${link.port}`, id);
      await following.printed(6);
      link.cut();
      link.heal({ reset: true });
      open();
      expect(await following.ended()).toEqual(all);
      await link.close();
    });

    test(
      `takes results up after the service was killed in the middle of the job (${name})`,
      { timeout: 120_000 },
      async () => {
        const { id, open, site } = await heldJob({ sites, service }, 12, 6);
        const following = begin(name, service.url, id);
        await following.printed(6);
        await service.kill();
        open();
        await service.restart();
        expect(await following.ended()).toEqual(all);
        expect(site.hits("/3")).toBe(1);
      },
    );
  }

  test("makes a table of results", async () => {
    const site = sites.site({ "*": { body: article("A page") } });
    const urls = [`${site.origin}/1`, `${site.origin}/2`];
    expect(await beginWithFrameworks("frames", site.origin).ended()).toEqual([
      [[0, 1], ["A page", "A page"], urls],
    ]);
  });

  test("gives documents to LangChain and LlamaIndex", async () => {
    const site = sites.site({ "*": { body: article("A page") } });
    expect(await beginWithFrameworks("frameworks", site.origin).ended()).toEqual([
      ["# A page", `${site.origin}/1`, "A page"],
      2,
      0,
      ["# A page", "A page"],
    ]);
  });

  test("knows a webhook by its signature", async () => {
    const body = JSON.stringify({ id: "evt_1", type: "company.changed", fields: ["名前"] });
    const secret = newWebhookSecret();
    const headers = JSON.stringify(Object.fromEntries(signatureHeaders(secret, "evt_1", body, Date.now())));
    const old = JSON.stringify(
      Object.fromEntries(signatureHeaders(secret, "evt_1", body, Date.now() - 360_000)),
    );
    const refused = { code: "invalid_signature", status: null, hasRequestId: false, places: [] };
    expect(
      await begin("webhook", service.url, headers, body, secret, old, newWebhookSecret()).ended(),
    ).toEqual(["evt_1", "evt_1", refused, refused, refused, refused]);
  });

  test("runs the lines of its README", async () => {
    const site = sites.site({ "*": { body: article("Example") } });
    const readme = readFileSync(join(ROOT, "clients/python/README.md"), "utf8");
    const [, lines] = /```python\n([^]*?)```/.exec(readme)!;
    const adapted = lines!
      .replaceAll("http://127.0.0.1:8080", service.url)
      .replaceAll("https://example.org", site.origin);
    writeFileSync(join(folder, "readme.py"), adapted);
    const { stdout } = await run(stranger, ["readme.py"], { cwd: folder, env: { TRAWL_KEY: service.key } });
    expect(stdout).toContain("Example None");
    expect(stdout).toContain(`${site.origin}/ Example`);
    expect(stdout).toMatch(/\n2\nnot_found req_[0-9A-Z]{26}\n$/);
  });
});
