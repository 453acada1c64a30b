/**
 * Allowed private networks (TRAWL_EGRESS_ALLOW, `trawl project allow-network`): what a hostile public page can reach in them
 * through the service's browser, and which project they are for. By HTTP to the real service, in a network namespace in which
 * loopback has public and private addresses, so that the rules on addresses are those of production.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { browsers } from "../harness/browser-harness.ts";
import { engines } from "../harness/engines.ts";

const CHILD = fileURLToPath(new URL("intranet.child.ts", import.meta.url));
const ADDRESSES = ["11.0.0.1", "10.0.0.7", "10.0.0.8", "169.254.169.254"];
const isRoot = process.getuid?.() === 0;
const hasNamespaces = isRoot && spawnSync("unshare", ["--net", "ip", "link", "set", "lo", "up"]).status === 0;

const paths = await Promise.all(
  browsers.map(async ([name, chromium]) => [name, (await chromium.ready()).path] as const),
);
const { bus, documents, blobs } = await engines();
const hasEngines = bus !== null && documents !== null && blobs !== null;
const found = [
  ...paths.map(([name, path]) => [name, "one process", path] as const),
  // The guard is the same for each browser.
  ...paths.slice(0, hasEngines ? 1 : 0).map(([name, path]) => [name, "cluster", path] as const),
];

// As root only: the browser's user must exist beside that of the service in the namespace.
describe.runIf(hasNamespaces).each(found)("an allowed private network, %s, %s", (_, shape, path) => {
  let seen: Record<string, any>;
  beforeAll(() => {
    const network = ["ip link set lo up", ...ADDRESSES.map((address) => `ip addr add ${address}/32 dev lo`)];
    const command = `${network.join(" && ")} && exec "$0" "$@"`;
    const words = ["--net", "sh", "-c", command, process.execPath, ...process.execArgv, CHILD, path, shape];
    const { stdout, stderr } = spawnSync("unshare", words, {
      encoding: "utf8",
      timeout: 170_000,
    });
    assert.match(stdout, /^\{.*\}\n$/, stderr);
    seen = JSON.parse(stdout) as typeof seen;
  });

  test("is not read by a page whose name moved there (DNS rebinding)", () => {
    expect(seen["/rebind"]).toMatchObject({ error: null, title: "done", asked: [] });
    // The second answer is the public site's as well.
    expect(seen["stolen"]).toEqual([expect.stringContaining("Public")]);
    expect(JSON.stringify(seen["stolen"])).not.toContain("secret");
  });

  test.each(["/frame", "/get", "/post", "/redirect", "/socket"])(
    "is asked for nothing by a public page: %s",
    (attack) => {
      expect(seen[attack]).toEqual({ error: null, title: "done", asked: [] });
    },
  );

  test.each(["/form", "/navigate", "direct redirect", "browser redirect"])(
    "is not where a public page leads: %s",
    (attack) => {
      // As any name that does not exist.
      expect(seen[attack]).toMatchObject({ error: "all_tiers_failed", reasons: ["dns_nxdomain"], asked: [] });
    },
  );

  test("is read when the request itself names it, with what the page loads from its own origin", () => {
    expect(seen["own direct"]).toMatchObject({ error: null, title: "Intranet" });
    expect(seen["own browser"]).toMatchObject({ error: null, title: "its script ran" });
    expect(seen["own browser"].asked).toContain("10.0.0.7 GET /own.js");
  });

  test("is not reached by its pages' requests to other origins, and they have no frames of strangers", () => {
    expect(seen["links"]).toMatchObject({ error: null, title: "Intranet", asked: ["10.0.0.7 GET /links"] });
  });

  test("is followed from one of its pages to another", () => {
    expect(seen["moved"]).toMatchObject({ error: null, title: "the secret of the intranet" });
    expect(seen["moved"].asked).toContain("10.0.0.8 GET /arrived");
  });

  test("does not open the metadata service, though it has its address", () => {
    expect(seen["metadata"]).toMatchObject({ error: "blocked_destination", asked: [] });
  });

  test("is for no project when there is a second customer, until the operator names one", () => {
    expect(seen["second, direct"]).toMatchObject({ error: "all_tiers_failed", asked: [] });
    // Missing for the second time: for this project, not for one that may reach it.
    expect(seen["second, browser"]).toMatchObject({ error: "domain_dead", asked: [] });
    expect(seen["second, allowed"]).toMatchObject({ error: null, title: "the secret of the intranet" });
    expect(seen["networks"]).toEqual([
      ["default", []],
      ["second", ["10.0.0.0/24"]],
    ]);
  });

  test("a page from a project's own network is cached for that project only", () => {
    expect(seen["second, cached"]).toMatchObject({ error: null, cached: true, asked: [] });
    expect(seen["first, not from the cache of the second"]).toMatchObject({
      error: "domain_dead",
      asked: [],
    });
  });
});
