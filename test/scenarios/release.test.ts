/**
 * The published package, as a stranger gets it: packed, installed from the tarball in an empty folder, started and asked. On the packaged Node, and on
 * each of /opt/nodes (`TRAWL_NODE=system`), which CI installs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installed, startIn } from "../../ops/release/start-installed.ts";
import { packServer } from "../../ops/release/server-package.ts";
import { OTHER_NODES } from "../harness/other-nodes.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const dist = mkdtempSync(join(tmpdir(), "trawl-dist-"));
const environment = { PATH: process.env["PATH"]!, HOME: process.env["HOME"]!, TRAWL_CHROMIUM_PATH: "none" };
let packed = "";
let folder = "";

beforeAll(async () => {
  packed = packServer(ROOT, dist, "0123456789ab").path;
  folder = await installed(packed, environment);
}, 300_000);

afterAll(() => {
  for (const each of [dist, folder]) rmSync(each, { recursive: true, force: true });
});

describe("@trawl/server", () => {
  test("has less than 5 MB, no TypeScript and nothing for developers", () => {
    expect(statSync(packed).size).toBeLessThan(5_000_000);
    const files = readdirSync(join(dist, "server"), { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => /\.ts$|^test|^bench|ops\/decisions|ops\/engines/.test(file))).toEqual([]);
    expect(files).toContain("LICENSE");
  });

  test("installs, starts and fetches a page on the packaged Node", async () => {
    const started = await startIn(folder, environment);
    expect(started.title).toBe("How the tide mill works");
    expect(started.http_server).toBe("HTTP by uWebSockets.js");
    expect(existsSync(join(folder, "node_modules/.cache"))).toBe(false);
  });

  test("every command prints its help", () => {
    const trawl = (...words: string[]): string =>
      execFileSync(join(folder, "node_modules/.bin/trawl"), words, { env: environment, encoding: "utf8" });
    const commands = [...trawl("--help").matchAll(/^ {2}([a-z][a-z-]+)/gm)].map(([, name]) => name!);
    expect(commands.length).toBeGreaterThan(25);
    for (const name of ["start", "fetch", "map", "doctor"])
      expect(trawl(name, "--help")).toContain(`Usage: trawl ${name}`);
    expect(trawl("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  for (const { version, node } of OTHER_NODES)
    test.skipIf(node === null)(
      `starts and fetches a page on Node ${version}${node === null ? " (needs it in /opt/nodes: .ci/run)" : ""}`,
      { timeout: 120_000 },
      async () => {
        const started = await startIn(folder, { ...environment, TRAWL_NODE: "system" }, node!);
        expect(started.title).toBe("How the tide mill works");
        expect(started.http_server).toContain(
          `HTTP by node:http: uWebSockets.js has no build for Node ${version}`,
        );
      },
    );
});
