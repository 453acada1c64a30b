/** `trawl demo` as a stranger runs it: its own service, its own site, no network, and nothing is left. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const TRAWL = fileURLToPath(new URL("../../trawl", import.meta.url));

test(
  "the demo searches, fetches, crawls and imports companies, whatever the user's settings, and leaves nothing",
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-demo-test-"));
    const env = {
      ...process.env,
      HOME: folder,
      TMPDIR: folder,
      TRAWL_URL: "http://127.0.0.1:9",
      TRAWL_KEY: "sk_of_another",
    };
    const { stdout, stderr } = await promisify(execFile)(TRAWL, ["demo"], { env });
    expect(stdout).toContain("1. The lighthouse at Skarn Head");
    expect(stdout).toContain("# The lighthouse at Skarn Head");
    expect(stdout).toMatch(/^http:\S+\/tide-mill\tTide mill$/m);
    expect(stderr).toContain("4 done, 0 failed");
    expect(stdout).toContain("3 records, 3 created");
    expect(stdout).toContain("Oskerry Ferry Company Limited");
    const [, data] = /its data is in (\S+)/.exec(stderr)!;
    expect(existsSync(data!)).toBe(false);
    rmSync(folder, { recursive: true });
  },
);
