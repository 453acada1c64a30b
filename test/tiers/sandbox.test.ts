/** Chromium's sandbox (TRAWL_CHROMIUM_SANDBOX): as root under another user, and without where the kernel refuses it. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chromium } from "../../actors/tiers/adapters/chromium.ts";
import { sandboxed, type SandboxedChromium } from "../../actors/tiers/adapters/sandbox.ts";
import { article } from "../harness/web.ts";
import { browsers, browserSetup, living } from "../harness/browser-harness.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "trawl-sandbox-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Renders one page; returns the browser's command and the users of all its processes. */
async function render(chromium: SandboxedChromium): Promise<{ commands: string[]; users: Set<number> }> {
  const it = await browserSetup({ chromium });
  const site = it.web.site({
    "/": { body: `${article("Title")}<script>document.title += " made"</script>` },
  });
  const answer = await it.fetch(`${site.origin}/`);
  expect(answer.kind === "page" && answer.body.toString()).toContain("<title>Title made</title>");
  const processes = living(it.pool.stats().browsers[0]!);
  const userOf = (pid: number) =>
    Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))![1]);
  const seen = {
    commands: processes.map(({ command }) => command),
    users: new Set(processes.map(({ pid }) => userOf(pid))),
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
  // What the operator set is tried, whatever browser it is.
  return { ...chromium, from: "setting", ready: async () => ({ path: program, env }) };
}

describe.runIf(process.platform === "linux").each(browsers)("%s", (_, chromium) => {
  test("runs in its sandbox, as root under another user, or says why not", async () => {
    const one = sandboxed(chromium, { setting: "auto", folder: join(folder, "root") });
    const state = await one.sandbox();
    const home = (await one.ready()).env["HOME"]!;
    const { commands, users } = await render(one);
    const [browser] = commands;
    // npm's browser has none, nor a machine without user namespaces, such as a container with the usual seccomp profile.
    const isPossible = chromium.from !== "npm" && hasUserNamespaces();
    expect(state.is_on).toBe(isPossible);
    expect(state.is_on ? "sandbox" : state.why).toMatch(/sandbox|namespace|zygote/i);
    expect(browser!.includes("--no-sandbox")).toBe(!isPossible);
    const isRoot = process.getuid!() === 0;
    expect(users.has(0)).toBe(isRoot && !isPossible);
    expect(home.includes("trawl-browser-") && existsSync(home)).toBe(false);
  }, 60_000);

  test("runs without where the kernel refuses it, and says so; with a required one it does not run", async () => {
    const stubborn = await refused(chromium);
    const one = sandboxed(stubborn, { setting: "auto", folder: join(folder, "root") });
    expect(await one.sandbox()).toEqual({
      is_on: false,
      why: expect.stringMatching(/No usable sandbox|denied/),
    });
    expect((await render(one)).commands[0]).toContain("--no-sandbox");
    const strict = sandboxed(stubborn, { setting: "required", folder: join(folder, "root") });
    await expect(strict.sandbox()).rejects.toThrow(
      /does not run in its sandbox: .*(?:No usable sandbox|denied)/,
    );
    await strict.close();
  }, 60_000);
});

describe.runIf(browsers.length > 0)("off", () => {
  test("is without a sandbox, and the browser is not tried", async () => {
    const [, chromium] = browsers.at(-1)!;
    const one = sandboxed(chromium, { setting: "off", folder: join(folder, "root") });
    expect(await one.sandbox()).toEqual({ is_on: false, why: "TRAWL_CHROMIUM_SANDBOX is off" });
    expect(await one.ready()).toMatchObject({ sandbox: false });
    await one.close();
  });
});
