/** The trawl command, run as main.ts runs it, on stores in a folder of its own and against a real socket. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import type { Listening } from "../../gateway/http.ts";
import { trawl, type World } from "../../ops/cli.ts";
import { operatedService as operatedServiceOf, service as serviceOf } from "../../ops/commands/client.ts";
import type { Context } from "../../ops/commands/context.ts";
import { spendOf } from "../../ops/commands/customer.ts";
import { readClientConfig } from "../../ops/client-config.ts";
import { readConfig } from "../../ops/config.ts";
import { profilesPath, writeProfiles } from "../../ops/profiles.ts";
import type { Environment } from "../../ops/settings-reader.ts";
import type { Terminal } from "../../ops/terminal.ts";
import { NO_USAGE } from "../../schemas/accounts.ts";
import type { FetchAnswer } from "../../schemas/fetch.ts";
import { packRows } from "../../schemas/ledger-batch.ts";
import { batchKey, newBatchTag } from "../../schemas/ledger.ts";
import { fetchAnswer, gatewayHarness } from "../harness/gateway-harness.ts";
import { ledgerRow } from "../harness/ledger-row.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A command line over one SQLite file; each run opens and closes it, as a process would. */
function shell(environment: Environment = {}, more: Partial<World> = {}) {
  const path = join(folder, `${files++}.sqlite`);
  const run = async (...words: string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await trawl(words, {
      environment,
      config: () => readConfig(environment),
      openDocuments: async () => sqliteDocuments(path),
      openNodeDirectory: () => Promise.reject(new Error("There is no bus here")),
      now: () => Date.UTC(2026, 10, 21),
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
      ...more,
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  };
  return { run, path };
}

describe("unknown commands and options", () => {
  test.each([
    [["frobnicate"], "unknown command"],
    [["key", "create"], "--project"],
    [["key", "create", "--project", "p", "--category", "company"], "search, fetch"],
    [["key", "create", "--project", "p", "--quota", "fetch"], "fetch=1000"],
    [["project", "budget", "p", "1e3"], "Not an amount"],
    [["fetch"], "missing required argument"],
    [["fetch", "u", "--tiers", "direct,teleport"], "teleport"],
    [["fetch", "u", "--timeout", "soon"], "number of seconds"],
    [["search"], "missing required argument"],
    [["search", "q", "--max", "101"], "1 to 100"],
    [["search", "q", "--freshness", "decade"], "pd"],
  ])("%j: usage", async (words, expected) => {
    const { code, out, err } = await shell().run(...words);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(expected);
  });

  test("help and version are no mistakes", async () => {
    expect(await shell().run("--version")).toMatchObject({ code: 0, out: "0.0.0" });
    expect((await shell().run("key", "--help")).code).toBe(0);
  });

  test("an invalid configuration is reported by commands that need it", async () => {
    const broken = shell({ PORT: "x" });
    expect(await broken.run("config")).toMatchObject({
      code: 2,
      err: expect.stringContaining("PORT must be integer"),
    });
    expect((await broken.run("--help")).code).toBe(0);
  });
});

describe("what a customer spent", () => {
  const cell = (project: string, day: string, requests: number, cost_micros: number) => ({
    project,
    key: null,
    day,
    category: "fetch_own",
    usage: { ...NO_USAGE, requests, cost_micros },
  });

  test("is summed for today and the month, by project and in all", () => {
    const cells = [
      cell("a", "2026-11-20", 10, 30_000),
      cell("a", "2026-11-21", 2, 5_000),
      cell("b", "2026-11-21", 1, 1),
    ];
    expect(spendOf(cells, "2026-11-21")).toEqual([
      { project: "a", today: spend(2, "0.005000"), month: spend(12, "0.035000") },
      { project: "b", today: spend(1, "0.000001"), month: spend(1, "0.000001") },
      { project: "(all)", today: spend(3, "0.005001"), month: spend(13, "0.035001") },
    ]);
  });
  const spend = (requests: number, cost_usd: string) => ({ requests, cost_usd });

  test("is nothing at first, and an unknown customer is an error", async () => {
    const { run } = shell();
    expect((await run("customer", "spend", "nobody")).err).toContain('There is no customer "nobody"');
    await run("customer", "create", "acme");
    expect(JSON.parse((await run("customer", "spend", "acme", "--json")).out)).toEqual([
      { project: "(all)", today: spend(0, "0.000000"), month: spend(0, "0.000000") },
    ]);
  });
});

describe("accounts", () => {
  test("a project, a key for it, its list, its end", async () => {
    const { run } = shell();
    expect((await run("project", "create", "p")).err).toContain('there is no customer "default"');
    const own = await run(
      "project",
      "create",
      "p",
      "--customer",
      "acme",
      "--new-customer",
      "--external",
      "--json",
    );
    expect(JSON.parse(own.out)).toMatchObject({ name: "p", customer: "acme" });
    const made = await run(
      "key",
      "create",
      "--project",
      "p",
      "--label",
      "mine",
      "--category",
      "fetch",
      "--json",
    );
    const { key, prefix, ...rest } = JSON.parse(made.out);
    expect([key.slice(0, 10), rest]).toEqual([prefix, { project: "p", role: "standard" }]);
    const admin = await run("key", "create", "--project", "p", "--admin");
    expect(admin.out).toMatch(/^ak_[0-9A-Za-z]{43}$/);
    expect(admin.err).toContain("not shown again");
    expect((await run("key", "create", "--operator")).err).toContain('there is no project "default"');
    const operator = JSON.parse((await run("key", "create", "--operator", "--project", "p", "--json")).out);
    expect(operator).toMatchObject({ key: expect.stringMatching(/^ok_/), role: "operator" });
    expect(await run("key", "create", "--operator", "--admin", "--project", "p")).toMatchObject({ code: 2 });
    expect(await run("key", "create")).toMatchObject({ code: 2, err: expect.stringContaining("--project") });
    const listed = await run("key", "list");
    expect(listed.out).toContain(prefix);
    expect(listed.out).not.toContain(key);
    expect((await run("key", "revoke", prefix)).code).toBe(0);
    expect(JSON.parse((await run("key", "list", "--project", "p", "--json")).out)).toContainEqual(
      expect.objectContaining({
        prefix,
        label: "mine",
        categories: ["fetch"],
        status: "revoked",
      }),
    );
    expect((await run("key", "revoke", "sk_nothing")).code).toBe(1);
  });

  test("limits of a key, agents and budget of a project, suspension of a customer", async () => {
    const { run, path } = shell();
    await run("project", "create", "p", "--customer", "acme", "--new-customer");
    const words = [
      "--rps",
      "5",
      "--quota",
      "fetch=10",
      "--quota",
      "search=20",
      "--spend-cap",
      "25.50",
      "--no-paid",
    ];
    await run("key", "create", "--project", "p", ...words);
    const [key] = JSON.parse((await run("key", "list", "--json")).out);
    expect(key).toMatchObject({
      rate_limit_rps: 5,
      quotas: { search: 20, fetch: 10 },
      spend_cap_micros: 25_500_000,
      paid_fetches: false,
    });
    expect((await run("project", "allow-agent", "p", "Research/1.0")).err).toContain('"Research/1.0"');
    expect((await run("project", "budget", "p", "12.5")).err).toContain("12.500000");
    expect((await run("customer", "suspend", "acme")).err).toContain("suspended");
    const documents = sqliteDocuments(path);
    expect((await documents.get("projects", "p"))?.value).toMatchObject({
      user_agents: ["Research/1.0"],
      budget_micros: 12_500_000,
    });
    expect((await documents.get("customers", "acme"))?.value).toMatchObject({ status: "suspended" });
    await documents.close();
    expect(JSON.parse((await run("customer", "activate", "acme", "--json")).out).status).toBe("active");
    expect((await run("customer", "suspend", "nobody")).code).toBe(1);
  });

  test("are changed and listed; what is not named stays, and none takes a limit away", async () => {
    const { run } = shell();
    const created = await run("customer", "create", "acme", "--external", "--currency", "CHF");
    expect([created.code, created.err]).toEqual([0, expect.stringContaining("no rate of CHF")]);
    expect((await run("rate", "set", "CHF", "0.88")).err).toContain("0.880000 CHF");
    expect((await run("rate", "set", "CHF", "0")).err).toContain("Not a rate");
    expect(JSON.parse((await run("rate", "list", "--json")).out)).toMatchObject([
      { currency: "CHF", per_usd_micros: 880_000 },
    ]);
    expect((await run("alert", "list", "acme", "--json")).out).toBe("[]");
    expect((await run("customer", "price", "acme", "fetch_own=0.001", "search=0.002")).err).toContain(
      "fetch_own 0.001000, search 0.002000 (CHF)",
    );
    expect((await run("customer", "price", "acme", "fetsch=1")).err).toContain("is no price");
    expect((await run("customer", "price", "acme", "none", "--from", "2020-01")).err).toContain("this month");
    expect((await run("invoice", "draw", "acme")).err).toContain("used nothing");
    expect((await run("invoice", "draw", "acme", "--month", "2999-01")).err).toContain(
      "a month that is over",
    );
    expect((await run("invoice", "list", "acme", "--json")).out).toBe("[]");
    expect((await run("invoice", "paid", "inv-2026-10-1-acme")).err).toContain("there is none");
    expect((await run("customer", "budget", "acme", "100")).err).toContain("100.000000");
    expect(JSON.parse((await run("customer", "list", "--json")).out)).toMatchObject([
      { name: "acme", external: true, currency: "CHF", budget_micros: 100_000_000 },
    ]);
    expect((await run("customer", "list")).out).toContain("100.000000");
    await run("project", "create", "p", "--customer", "acme");
    expect((await run("project", "rate", "p", "50")).err).toContain("50 requests");
    await run("project", "allow-agent", "p", "Research/1.0");
    await run("project", "forbid-agent", "p", "Research/1.0");
    expect(JSON.parse((await run("project", "list", "--json")).out)).toMatchObject([
      { name: "p", customer: "acme", rate_limit_rps: 50, user_agents: [] },
    ]);
    expect((await run("project", "list")).out).toContain("50");
    const made = JSON.parse(
      (await run("key", "create", "--project", "p", "--rps", "5", "--quota", "fetch=10", "--json")).out,
    );
    const limit = async (...words: string[]) =>
      JSON.parse((await run("key", "limit", made.prefix, ...words, "--json")).out);
    expect(await limit("--quota", "search=3", "--spend-cap", "1.5")).toMatchObject({
      rate_limit_rps: 5,
      quotas: { search: 3, fetch: 10 },
      spend_cap_micros: 1_500_000,
    });
    expect(await limit("--rps", "none", "--quota", "fetch=none", "--spend-cap", "none")).toMatchObject({
      rate_limit_rps: null,
      quotas: { search: 3, fetch: null },
      spend_cap_micros: null,
    });
    expect((await run("key", "limit", made.prefix, "--quota", "fetch=many")).err).toContain("Not a quota");
    expect((await run("key", "limit", "sk_nothing", "--rps", "1")).err).toContain("no key has this prefix");
  });

  test("what cannot be meant is refused with a sentence, and a whole key is never printed", async () => {
    const { run, path } = shell();
    await run("project", "create", "p", "--customer", "acme", "--new-customer");
    const made = JSON.parse((await run("key", "create", "--project", "p", "--json")).out);
    for (const [words, expected] of [
      [["key", "create", "--project", "p", "--label", "l".repeat(201)], "200 characters"],
      [["key", "limit", made.prefix, "--label", "two\nlines"], "line breaks"],
      [["key", "list", "--project", "nowhere"], 'no project "nowhere"'],
      [["invoice", "list", "nobody"], 'no customer "nobody"'],
      [["alert", "list", "nobody"], 'no customer "nobody"'],
      [["project", "allow-agent", "p", ""], "User-Agent"],
      [["project", "allow-agent", "p", "a\nb"], "User-Agent"],
      [["project", "allow-agent", "p", "ünï"], "User-Agent"],
      [["customer", "price", "acme", "search=1", "search=2"], "second price of search"],
    ] as const) {
      const { code, err } = await run(...words);
      expect([code, err]).toEqual([1, expect.stringContaining(expected)]);
    }
    expect((await run("key", "limit", made.prefix)).code).toBe(2);
    for (const command of [
      ["revoke", made.key],
      ["limit", made.key, "--rps", "1"],
    ])
      expect((await run("key", ...command)).err).not.toContain(made.key.slice(0, 11));
    const documents = sqliteDocuments(path);
    expect((await documents.get("projects", "p"))?.value).toMatchObject({ user_agents: [] });
    await documents.close();
  });

  test("categories of a key are changed, each counts once, and the list shows limits", async () => {
    const { run } = shell();
    await run("project", "create", "p", "--customer", "acme", "--new-customer");
    const only = ["--category", "fetch", "--category", "fetch"];
    const made = JSON.parse((await run("key", "create", "--project", "p", ...only, "--json")).out);
    const limited = async (...words: string[]) =>
      JSON.parse((await run("key", "limit", made.prefix, ...words, "--json")).out).categories;
    expect(JSON.parse((await run("key", "list", "--json")).out)[0].categories).toEqual(["fetch"]);
    expect(await limited("--category", "search")).toEqual(["search"]);
    expect(await limited("--quota", "search=7", "--spend-cap", "2.5", "--rps", "4")).toEqual(["search"]);
    expect((await run("key", "list")).out).toContain("only search, rps 4, search=7, spend-cap 2.500000");
    expect(await limited("--category", "none")).toBeNull();
    expect((await run("key", "limit", made.prefix, "--category", "company")).err).toContain("search, fetch");
  });

  test("a preview of an invoice adds the month up and stores none", async () => {
    const { run, path } = shell();
    await run("project", "create", "p", "--customer", "acme", "--new-customer");
    await run("customer", "price", "acme", "fetch_own=0.001");
    expect((await run("invoice", "preview", "acme")).err).toContain("used nothing");
    expect((await run("invoice", "preview", "nobody")).err).toContain('no customer "nobody"');
    expect((await run("invoice", "preview", "acme", "--month", "2026-12")).err).toContain("this month");
    const at_ms = Date.UTC(2026, 10, 20);
    const documents = sqliteDocuments(path);
    const rows = [1, 2, 3].map((n) => ledgerRow({ request_id: `r${n}`, at_ms, project: "p", ok: n < 3 }));
    await documents.put("ledger", batchKey("acme", at_ms, "g1"), packRows(rows), 0, {
      tag: newBatchTag("acme"),
    });
    await documents.close();
    expect(JSON.parse((await run("invoice", "preview", "acme", "--json")).out)).toMatchObject({
      customer: "acme",
      period: "2026-11",
      total: "0.002000",
      lines: [{ category: "fetch_own", requests: 3, succeeded: 2, amount: "0.002000" }],
    });
    expect((await run("invoice", "preview", "acme")).out).toMatch(/\(all\) +0\.002000$/);
    expect((await run("invoice", "list", "acme", "--json")).out).toBe("[]");
  });

  test("a running service honours them: two openings of one file", async () => {
    const { run, path } = shell();
    const documents = sqliteDocuments(path);
    const { call, clock } = await gatewayHarness({ documents });
    const made = JSON.parse((await run("key", "create", "--project", "default", "--json")).out);
    expect((await call("GET", "/v1/quota", { key: made.key })).status).toBe(200);
    await run("key", "revoke", made.prefix);
    await clock.advance(5_000);
    expect((await call("GET", "/v1/quota", { key: made.key })).status).toBe(401);
    await documents.close();
  });
});

describe("config", () => {
  test("prints what is in force, secrets masked", async () => {
    const { run } = shell({ PORT: "81", TRAWL_RENDER_KEY: "verysecret" });
    const { out } = await run("config");
    expect(out).toMatch(/^PORT +81 +set/m);
    expect(out).not.toContain("verysecret");
    expect(JSON.parse((await run("config", "--json")).out)).toContainEqual(
      expect.objectContaining({ variable: "TRAWL_RENDER_KEY", value: "***", from: "environment" }),
    );
  });
});

/** Parts that only some tests of `start` look at. */
const QUIET = { onCrash: () => {}, exitWithin: () => {} };
const NO_CRASH = (): void => {};

describe("start", () => {
  let mono_ms = 0;

  test("prints the address, the first key and a working command, and stops on a signal", async () => {
    const signals: ((name: string) => void)[] = [];
    let stopped = 0;
    const over = Promise.withResolvers<void>();
    const { run } = shell(
      {},
      {
        starting: async () => ({
          start: async () => ({
            address: "http://127.0.0.1:4711",
            http: "HTTP by node:http",
            first_key: "ak_first",
            warnings: [],
            serves: true,
            stop: async () => {
              stopped++;
              over.resolve();
            },
            ended: over.promise,
            crash: NO_CRASH,
          }),
          ...QUIET,
          onSignal: (call) => void signals.push(call),
          mono: () => mono_ms,
          kill: () => {
            throw new Error("killed");
          },
        }),
      },
    );
    const ended = run("start");
    await expect.poll(() => signals.length).toBe(1);
    // Ctrl-C reaches the whole process group, and the launcher passes it on.
    for (const name of ["SIGTERM", "SIGINT", "SIGTERM", "SIGHUP", "SIGTERM"]) {
      signals[0]!(name);
      mono_ms += 250;
    }
    const { code, out, err } = await ended;
    expect([code, stopped]).toEqual([0, 1]);
    expect(err.match(/waiting for requests/g)).toHaveLength(1);
    expect(out).toContain("Trawl answers at http://127.0.0.1:4711");
    expect(out).toContain('curl http://127.0.0.1:4711/v1/fetch -H "Authorization: Bearer ak_first"');
    mono_ms += 1;
    expect(() => signals[0]!("SIGINT")).toThrow("killed");
  });

  test("prints the one-time link on a terminal, and neither in a pipe, nor as JSON, nor in a file", async () => {
    const starting = async () => ({
      start: async () => ({
        address: "http://127.0.0.1:4711",
        http: "HTTP by node:http",
        first_key: null,
        signInLink: () => "http://127.0.0.1:4711/console#/sign-in/s3cret",
        warnings: [],
        serves: true,
        stop: async () => {},
        ended: Promise.resolve(),
        crash: NO_CRASH,
      }),
      ...QUIET,
      onSignal: () => {},
      mono: () => 0,
      kill: (): never => {
        throw new Error("killed");
      },
    });
    const printed = async (isPiped: boolean, ...words: string[]): Promise<string> =>
      (
        await shell({}, { starting, terminal: () => ({ isPiped }) as Partial<Terminal> as Terminal }).run(
          "start",
          ...words,
        )
      ).out;
    expect(await printed(false)).toContain("#/sign-in/s3cret");
    expect(await printed(true)).not.toContain("s3cret");
    expect(await printed(false, "--json")).not.toContain("s3cret");
    const file = join(folder, "start.txt");
    await printed(false, "-o", file);
    expect(readFileSync(file, "utf8")).not.toContain("s3cret");
  });

  test("warms the readers once, after the address is printed", async () => {
    const steps: string[] = [];
    const starting = async () => ({
      start: async () => ({
        address: "http://127.0.0.1:4711",
        http: "HTTP by node:http",
        first_key: null,
        warnings: [],
        serves: true,
        warmReaders: () => void steps.push("warm"),
        stop: async () => {},
        ended: Promise.resolve(),
        crash: NO_CRASH,
      }),
      ...QUIET,
      onSignal: () => void steps.push("runs"),
      mono: () => 0,
      kill: (): never => {
        throw new Error("killed");
      },
    });
    const { code, out } = await shell({}, { starting }).run("start");
    expect(code).toBe(0);
    expect(out).toContain("Trawl answers at http://127.0.0.1:4711");
    expect(steps).toEqual(["warm", "runs"]);
  });

  test("prints the first key also on a node without a gateway", async () => {
    const { run } = shell(
      { TRAWL_ROLES: "worker" },
      {
        starting: async () => ({
          start: async () => ({
            address: "http://127.0.0.1:4711",
            http: "HTTP by node:http",
            first_key: "ak_first",
            warnings: [],
            serves: false,
            stop: async () => {},
            ended: Promise.resolve(),
            crash: NO_CRASH,
          }),
          ...QUIET,
          onSignal: () => {},
          mono: () => mono_ms,
          kill: () => {
            throw new Error("killed");
          },
        }),
      },
    );
    const { out } = await run("start");
    expect(out).toContain("This node (worker) answers status requests at http://127.0.0.1:4711");
    expect(out).toContain("ak_first");
    expect(out).not.toContain("curl");
  });

  test("a failure that no code handles stops the node, and the process ends with an error in any case", async () => {
    const over = Promise.withResolvers<void>();
    const crashes: string[] = [];
    const exits: number[] = [];
    let crash: (kind: "unhandled_rejection", problem: unknown) => void = () => {};
    const { run } = shell(
      {},
      {
        starting: async () => ({
          start: async () => ({
            address: "http://127.0.0.1:4711",
            http: "HTTP by node:http",
            first_key: null,
            warnings: [],
            serves: true,
            stop: async () => {},
            ended: over.promise,
            crash(kind, problem) {
              crashes.push(`${kind}: ${String(problem)}`);
              over.resolve();
            },
          }),
          onSignal: () => {},
          kill: () => {
            throw new Error("killed");
          },
          mono: () => 0,
          onCrash: (call) => (crash = call),
          exitWithin: (ms) => void exits.push(ms),
        }),
      },
    );
    const ended = run("start");
    await expect.poll(() => crash.length).toBe(2);
    crash("unhandled_rejection", new Error("a bug"));
    expect((await ended).code).toBe(1);
    expect(crashes).toEqual(["unhandled_rejection: Error: a bug"]);
    expect(exits).toEqual([1_000]);
  });

  test("what keeps it from starting is a sentence", async () => {
    const { run } = shell(
      {},
      {
        starting: async () => ({
          start: () => Promise.reject(new Error("Cannot listen on 127.0.0.1:80")),
          ...QUIET,
          onSignal: () => {},
          mono: () => mono_ms,
          kill: () => {
            throw new Error("killed");
          },
        }),
      },
    );
    expect(await run("start")).toMatchObject({ code: 1, err: "Cannot listen on 127.0.0.1:80" });
  });
});

async function service(answer: FetchAnswer): Promise<Listening & { key: string; base: string }> {
  const { admit, failed, first } = await gatewayHarness({ fetch: async () => answer });
  const listening = await listenNode(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
  return { ...listening, key: first, base: `http://127.0.0.1:${listening.port}` };
}

describe("fetch", () => {
  test("prints the text, and how it was got beside it", async () => {
    const { base, key, close } = await service(fetchAnswer({}));
    const { run } = shell({ TRAWL_URL: base, TRAWL_KEY: key });
    const { code, out, err } = await run("fetch", "https://example.org/");
    expect([code, out]).toEqual([0, "An example."]);
    expect(err).toMatch(/^direct +200 +ok {2}12 ms\nby direct \(0 bytes, fetch_own, req_/);
    expect((await run("fetch", "https://example.org/", "--quiet")).err).toBe("");
    expect(JSON.parse((await run("fetch", "https://example.org/", "--json")).out).text).toBe("An example.");
    await close(0);
  });

  test.each([
    [fetchAnswer({}, { error: "all_tiers_failed" }), 1, "all_tiers_failed"],
    [fetchAnswer({}, { error: "timeout" }), 124, "timeout"],
    [fetchAnswer({}, { error: "domain_busy", retry_after_s: 9 }), 5, "again in 9 s"],
  ])("a page that could not be fetched ends %#", async (answer, code, expected) => {
    const { base, key, close } = await service(answer);
    const run = await shell({ TRAWL_URL: base, TRAWL_KEY: key }).run("fetch", "https://example.org/");
    expect(run.code).toBe(code);
    expect(run.err).toContain(expected);
    await close(0);
  });

  test("reports the refusal of the service, with an exit code", async () => {
    const { base, key, close } = await service(fetchAnswer({}));
    const ask = (...words: string[]) =>
      shell({ TRAWL_URL: base }).run("fetch", "https://example.org/", ...words);
    expect(await ask()).toMatchObject({ code: 4, err: expect.stringContaining("No key") });
    expect(await ask("--key", `sk_${"x".repeat(43)}`)).toMatchObject({
      code: 4,
      err: "401: invalid API key",
    });
    expect(await ask("--key", key, "--user-agent", "X/1")).toMatchObject({
      code: 4,
      err: expect.stringContaining("403: user_agent_not_allowed: Leave user_agent out"),
    });
    expect(await ask("--key", key, "--country", "Peru")).toMatchObject({
      code: 2,
      err: "422: country: Input should be a two-character country code (ISO 3166-1), such as de",
    });
    await close(0);
    expect(await ask("--key", key)).toMatchObject({
      code: 1,
      err: expect.stringContaining("Cannot reach http"),
    });
  });
});

test("a command ends quietly when the reader of its output has enough", async () => {
  const main = new URL("../../ops/main.ts", import.meta.url).pathname;
  const words = ["--disable-warning=ExperimentalWarning", main, "config"];
  const command = spawn(process.execPath, words, { env: {}, stdio: ["ignore", "pipe", "pipe"] });
  command.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(command.stderr), once(command, "close")]);
  expect([code, stderr]).toEqual([0, ""]);
});

/** Any service that answers so. */
async function answering(body: object): Promise<{ readonly base: string; readonly close: () => void }> {
  const server = createServer((_, reply) => void reply.end(JSON.stringify(body))).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  };
}

describe("trawl fetch", () => {
  const links = [
    { url: "https://example.org/a", text: "First\n one", rel: null },
    { url: "https://example.org/b", text: "", rel: null },
  ];

  test("prints lists between tabs, into a file where -o names one, and takes the address from standard input", async () => {
    const { base, close } = await answering({ links, attempts: [], error: null });
    const terminal = (): Terminal =>
      ({ read: async () => "https://example.org/\n" }) as Partial<Terminal> as Terminal;
    const { run } = shell({ TRAWL_URL: base, TRAWL_KEY: "k" }, { terminal });
    const file = join(folder, "links.txt");
    expect(await run("fetch", "-", "--links", "--quiet", "-o", file)).toEqual({ code: 0, out: "", err: "" });
    expect(readFileSync(file, "utf8")).toBe("https://example.org/a\tFirst one\nhttps://example.org/b\n");
    expect(await run("fetch", "-", "-o", join(folder, "none", "x"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("ENOENT"),
    });
    close();
  });
});

test("with --json a failure is JSON on standard output, of a service, of the key and of usage alike", async () => {
  const { run } = shell({ XDG_CONFIG_HOME: folder, TRAWL_URL: "http://127.0.0.1:9" });
  const failed = async (...words: string[]): Promise<unknown> => JSON.parse((await run(...words)).out).error;
  expect(await failed("fetch", "u", "--json")).toEqual({
    message: expect.stringContaining("No key"),
    exit_code: 4,
  });
  expect(await failed("fetch", "u", "--key", "k", "--json")).toEqual({
    message: expect.stringContaining("Cannot reach"),
    exit_code: 1,
  });
  expect(await failed("search", "--json")).toMatchObject({ exit_code: 2 });
  expect((await run("fetch", "u", "--json")).err).toBe("");
});

test("results are coloured where standard output takes colours, and never in a file", async () => {
  const found = { rank: 1, title: "Towers", url: "http://t.test/", snippets: [], published_at: null };
  const answer = { results: [found], error: null, provider: "test", unresponsive_engines: [] };
  const { base, close } = await answering(answer);
  const paint = (style: string, words: string): string => `<${style}>${words}`;
  const { run } = shell({ TRAWL_URL: base, TRAWL_KEY: "k" }, { paint });
  expect((await run("search", "towers")).out).toContain("<cyan>http");
  const file = join(folder, "results.txt");
  await run("search", "towers", "-o", file);
  expect(readFileSync(file, "utf8")).toBe("1. Towers\n   http://t.test/\n\n");
  close();
});

describe("profiles", () => {
  test("are kept with keys that only this user can read, are taken without settings, and forgotten", async () => {
    const { base, key, close } = await service(fetchAnswer({}));
    const XDG_CONFIG_HOME = join(folder, "config");
    const file = join(XDG_CONFIG_HOME, "trawl", "profiles.json");
    const terminal = (): Terminal => ({ readSecret: async () => typed }) as Partial<Terminal> as Terminal;
    let typed = "sk_0123456789abcdefghij";
    const { run } = shell({ XDG_CONFIG_HOME }, { terminal });
    expect(await run("login", "--url", base)).toMatchObject({ code: 4, err: expect.stringContaining("401") });
    expect(existsSync(file)).toBe(false);
    typed = key;
    expect((await run("login", "--url", base, "--profile", "here")).err).toContain(`"here" is ${base}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const listed = await run("profiles", "list");
    expect(listed.out).toContain("*  here");
    expect(listed.out).not.toContain(key);
    expect((await run("fetch", "https://example.org/", "--quiet")).code).toBe(0);
    expect((await run("fetch", "u", "--profile", "there")).err).toContain("there are: here");
    expect((await run("fetch", "u", "--profile", "here", "--url", base)).code).toBe(2);
    chmodSync(file, 0o644);
    expect(await run("fetch", "u")).toMatchObject({ code: 4, err: expect.stringContaining("chmod 600") });
    chmodSync(file, 0o600);
    expect((await run("logout")).code).toBe(0);
    expect((await run("fetch", "u", "--profile", "here")).err).toContain("none");
    await close(1_000);
  });

  test("of another service than an address or a key that is given are left alone", () => {
    const XDG_CONFIG_HOME = join(folder, "two");
    const path = profilesPath({ XDG_CONFIG_HOME });
    const of = (name: string) => ({ url: `https://${name}.test`, key: `sk_${name}` });
    writeProfiles(path, { current: "a", profiles: { a: of("a"), b: of("b") } });
    const asked = (environment: Environment, options: object = {}): object =>
      serviceOf(
        {
          environment: { XDG_CONFIG_HOME, ...environment },
          clientConfig: () => readClientConfig(environment),
        } as Partial<Context> as Context,
        options,
      );
    expect(asked({})).toEqual({ base: "https://a.test", key: "sk_a" });
    expect(asked({ TRAWL_PROFILE: "b" })).toEqual({ base: "https://b.test", key: "sk_b" });
    expect(asked({ TRAWL_PROFILE: "b" }, { profile: "a" })).toEqual({ base: "https://a.test", key: "sk_a" });
    expect(asked({ TRAWL_KEY: "sk_mine" })).toEqual({ base: "http://127.0.0.1:8080", key: "sk_mine" });
    expect(() => asked({ TRAWL_URL: "https://c.test" })).toThrow("No key");
    expect(() => asked({}, { url: "https://c.test" })).toThrow("No key");
  });
});

test("the service's address is its own by HOST, PORT and TLS, unless it is given", () => {
  const context = (environment: Environment): Context =>
    ({
      environment,
      clientConfig: () => readClientConfig({ TRAWL_KEY: "ak_any", ...environment }),
    }) as Context;
  const base = (environment: Environment) => serviceOf(context(environment), {}).base;
  expect(base({ HOST: "::1", PORT: "81" })).toBe("http://[::1]:81");
  expect(base({ TRAWL_TLS_CERT: "/c", TRAWL_TLS_KEY: "/k", PORT: "443" })).toBe("https://127.0.0.1:443");
  expect(base({ TRAWL_TLS_CERT: "/c", TRAWL_URL: "https://trawl.example/" })).toBe("https://trawl.example");
});

describe("the key of a command", () => {
  const OWN = { TRAWL_URL: "http://127.0.0.1:8080" };
  const context = (environment: Environment, readOperatorKey = () => "ok_in_the_data_folder"): Context =>
    ({
      environment: { XDG_CONFIG_HOME: folder, ...environment },
      clientConfig: () => readClientConfig(environment),
      readOperatorKey,
    }) as Partial<Context> as Context;
  const NAMED = "ok_named_0123456789abcdef";

  test.each<
    [environment: Environment, options: { key?: string; url?: string }, operated: string, other: string]
  >([
    [{}, {}, "ok_in_the_data_folder", "ok_in_the_data_folder"],
    [OWN, {}, "ok_in_the_data_folder", "ok_in_the_data_folder"],
    [{ TRAWL_OPERATOR_KEY: NAMED }, {}, NAMED, NAMED],
    [{ TRAWL_KEY: "sk_mine" }, {}, "ok_in_the_data_folder", "sk_mine"],
    [{ TRAWL_KEY: "ok_mine" }, {}, "ok_mine", "ok_mine"],
    [{ TRAWL_ADMIN_KEY: "ak_0123456789abcdefghij" }, {}, "ok_in_the_data_folder", "ak_0123456789abcdefghij"],
    [{ TRAWL_KEY: "ok_mine" }, { key: "sk_given" }, "sk_given", "sk_given"],
    [{ TRAWL_PUBLIC_URL: "https://trawl.example" }, {}, "ok_in_the_data_folder", "ok_in_the_data_folder"],
  ])("%o with %o: %s for an operator's operation, else %s", (environment, options, operated, other) => {
    expect(operatedServiceOf(context(environment), options).key).toBe(operated);
    expect(serviceOf(context(environment), options).key).toBe(other);
  });

  test("that the data folder has is sent to no other service", () => {
    for (const url of ["http://evil.test", "http://127.0.0.1:8081", "http://127.0.0.1:8080.evil.test"]) {
      expect(() => operatedServiceOf(context({}), { url })).toThrow("No operator key");
      expect(() => serviceOf(context({}), { url })).toThrow("No key");
    }
  });
});
