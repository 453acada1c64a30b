/** Chromium's sandbox (TRAWL_CHROMIUM_SANDBOX): as root under another user, and without where the kernel refuses it. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chromium } from "../../../../actors/crawl/tiers/adapters/chromium.ts";
import { sandboxed, type SandboxedChromium } from "../../../../actors/crawl/tiers/adapters/sandbox.ts";
import { article } from "../../../harness/web.ts";
import { browsers, browserSetup, living } from "../../../harness/browser-harness.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "trawl-sandbox-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface RunningBrowser {
  readonly commands: readonly string[];
  readonly users: ReadonlySet<number>;
  /** While a page with a frame of another site was open. */
  readonly renderers: number;
  /** Environments of all its processes. */
  readonly environments: string;
}

/** Renders one page; returns what its browser was meanwhile. */
async function render(chromium: SandboxedChromium): Promise<RunningBrowser> {
  const it = await browserSetup({ chromium });
  const stranger = it.web.site({ "/": { body: article("Inside") } });
  let rendering = 0;
  const site = it.web.site({
    "/": {
      body: `${article("Title")}<iframe src="${stranger.origin}/" onload='fetch("/framed")'></iframe>
        <script>document.title += " made"</script>`,
    },
    // The page is not done while this is asked for.
    "/framed": async () => {
      rendering = living(it.pool.stats().browsers[0]!, "renderer").length;
      return { body: "" };
    },
  });
  const answer = await it.fetch(`${site.origin}/`);
  expect(answer.kind === "page" && answer.body.toString()).toContain("<title>Title made</title>");
  const processes = living(it.pool.stats().browsers[0]!);
  const userOf = (pid: number) =>
    Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))![1]);
  const seen = {
    commands: processes.map(({ command }) => command),
    users: new Set(processes.map(({ pid }) => userOf(pid))),
    renderers: rendering,
    environments: processes.map(({ pid }) => readFileSync(`/proc/${pid}/environ`, "latin1")).join("\0"),
  };
  await it.close();
  await chromium.close();
  return seen;
}

/** Whether a user without rights may have them. */
const hasUserNamespaces = (): boolean =>
  spawnSync("setpriv", ["--reuid=60999", "--clear-groups", "unshare", "-U", "-n", "true"]).status === 0;

/** The browser in a user namespace in which the kernel grants no further one, so that its sandbox is refused. */
async function refused(chromium: Chromium): Promise<Chromium> {
  const { path, env } = await chromium.ready();
  const inside =
    'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"';
  const script = join(folder, "refused.sh");
  const apart = `exec unshare --user --map-current-user --keep-caps sh -c '${inside}' sh '${path}' "$@"`;
  writeFileSync(script, `#!/bin/sh\n${apart}\n`, { mode: 0o755 });
  // Where the kernel grants none at all, the browser is refused as it is.
  const program = hasUserNamespaces() ? script : path;
  // A browser that the operator set is tried, whichever it is.
  return { ...chromium, from: "setting", ready: async () => ({ path: program, env }) };
}

const isRoot = process.getuid?.() === 0;
/** A process of the browser's user. */
const asItsUser = (...command: string[]) =>
  spawnSync("setpriv", ["--reuid=60999", "--regid=60999", "--clear-groups", ...command], {
    encoding: "utf8",
  });

describe.runIf(process.platform === "linux").each(browsers)("%s", (_, chromium) => {
  test("runs in its sandbox, as root under another user, or says why not", async () => {
    const one = sandboxed(chromium, { setting: "auto", folder: join(folder, "root") });
    const state = await one.sandbox();
    const home = (await one.ready()).env["HOME"]!;
    const { commands, users, renderers } = await render(one);
    const [browser] = commands;
    // A machine without user namespaces has none, such as a container with the usual seccomp profile.
    const isPossible = hasUserNamespaces();
    expect(state.is_on).toBe(isPossible);
    expect(state.is_on ? "sandbox" : state.why).toMatch(/sandbox|namespace|zygote/i);
    expect(browser!.includes("--no-sandbox")).toBe(!isPossible);
    expect(users.has(0)).toBe(false);
    expect(renderers).toBe(isPossible ? 1 : 2);
    expect(home.includes("trawl-browser-") && existsSync(home)).toBe(false);
  }, 60_000);

  test("runs without where the kernel refuses it, under another user and each site apart; with a required one it does not run", async () => {
    const stubborn = await refused(chromium);
    const one = sandboxed(stubborn, { setting: "auto", folder: join(folder, "root") });
    expect(await one.sandbox()).toEqual({
      is_on: false,
      why: expect.stringMatching(/No usable sandbox|denied/),
    });
    const { commands, users, renderers } = await render(one);
    expect(commands[0]).toContain("--no-sandbox");
    expect(commands[0]).not.toContain("--disable-site-isolation-trials");
    expect([users.has(0), renderers]).toEqual([false, 2]);
    const strict = sandboxed(stubborn, { setting: "required", folder: join(folder, "root") });
    await expect(strict.sandbox()).rejects.toThrow(
      /does not run in its sandbox: .*(?:No usable sandbox|denied).*TRAWL_CHROMIUM_SANDBOX=auto/,
    );
    await strict.close();
  }, 60_000);

  test("off is without a sandbox, and as root under another user all the same", async () => {
    const one = sandboxed(chromium, { setting: "off", folder: join(folder, "root") });
    const { commands, users } = await render(one);
    expect(commands[0]).toContain("--no-sandbox");
    expect(users.has(0)).toBe(false);
  }, 60_000);

  test("has nothing of the service's environment, which its user cannot read", async () => {
    process.env["TRAWL_SANDBOX_TEST_KEY"] = "nobody-else-reads-this";
    const one = sandboxed(chromium, { setting: "auto", folder: join(folder, "root") });
    const { environments } = await render(one);
    delete process.env["TRAWL_SANDBOX_TEST_KEY"];
    expect(environments).toContain("LANG=C.UTF-8");
    expect(environments).not.toMatch(/TRAWL_|nobody-else/);
    if (!isRoot) return;
    expect(asItsUser("cat", "/proc/self/environ").status).toBe(0);
    expect(asItsUser("cat", `/proc/${process.pid}/environ`)).toMatchObject({
      stdout: "",
      stderr: expect.stringContaining("Permission denied"),
    });
  }, 60_000);
});

describe.runIf(browsers.length > 0)("the setting", () => {
  const [, chromium] = browsers.at(-1)!;

  test("is required for root by default, else auto", async () => {
    const at = { folder: join(folder, "root") };
    expect(sandboxed(chromium, { ...at, is_root: true }).is_required).toBe(true);
    expect(sandboxed(chromium, { ...at, is_root: false }).is_required).toBe(false);
    expect(sandboxed(chromium, { ...at, is_root: true, setting: "auto" }).is_required).toBe(false);
  });

  test("off is without a sandbox, and the browser is not tried", async () => {
    const one = sandboxed(chromium, { setting: "off", folder: join(folder, "root") });
    expect(await one.sandbox()).toEqual({ is_on: false, why: "TRAWL_CHROMIUM_SANDBOX is off" });
    expect(await one.ready()).toMatchObject({ sandbox: false });
    await one.close();
  });
});
