/** Large bodies end in refusals and not in an exhausted heap. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type FetchResponse, MAX_BYTES_CEILING } from "../../schemas/fetch.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Page } from "../harness/web.ts";

const BODIES = 200;
/** A site is asked for two pages at a time. */
const SITES = BODIES / 2;
const TIMEOUT_S = 14;
const HEAP_MB = 512;
/** Heap, the memory for bodies, and what a process has beside them; all bodies together are six times as much. */
const MAX_RESIDENT_BYTES = 1.5 * 2 ** 30;

/** Resident bytes of the service, the one child of this process that runs Trawl; 0 where the system does not say. */
function residentBytes(): number {
  if (process.platform !== "linux") return 0;
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
  const sizes = children
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("ops/main.ts"))
    .map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0));
  return Math.max(0, ...sizes) * 1_024;
}

describe("a node with a heap of 512 MB", () => {
  const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
  const { sites, service } = scenario(start, () => ({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    TRAWL_LOG_LEVEL: "error",
  }));

  test("survives 200 bodies of 50 MB at once, and answers each request", async () => {
    const content = (piece: string): Buffer => Buffer.alloc(MAX_BYTES_CEILING, piece);
    const page: Page = { type: "text/html", body: content("<p>The keeper counted the ships.</p>\n") };
    const file: Page = { type: "application/octet-stream", body: content("\0\u0001ships") };
    const made = Array.from({ length: SITES }, () => sites.site({ "/page": page, "*": file }));
    const limit = await service.meter("trawl_memory_limit_bytes");
    const seen = { reserved: 0, resident: 0 };
    let isRunning = true;
    const watching = (async () => {
      while (isRunning) {
        seen.reserved = Math.max(seen.reserved, await service.meter("trawl_memory_reserved_bytes"));
        seen.resident = Math.max(seen.resident, residentBytes());
      }
    })();

    const answers = await Promise.all(
      Array.from({ length: BODIES }, (_, n) => {
        // A page of 50 MB takes a reader seconds, so that most are files.
        const url = `${made[n % SITES]!.origin}/${n % 50 === 49 ? "page" : `file-${n}`}`;
        const body = { url, max_bytes: MAX_BYTES_CEILING, timeout_s: TIMEOUT_S };
        return service.call("POST", "/v1/fetch", { body });
      }),
    );
    isRunning = false;
    await watching;

    expect(answers.filter(({ status }) => ![200, 503, 504].includes(status))).toEqual([]);
    const fetched = answers
      .filter(({ status, json }) => status === 200 && json.error === null)
      .map(({ json }) => json as FetchResponse);
    expect(fetched.length).toBeGreaterThan(0);
    // Never a success without the body.
    expect(fetched.filter(({ bytes }) => bytes !== MAX_BYTES_CEILING)).toEqual([]);
    expect(seen.reserved).toBeGreaterThan(0);
    expect(seen.reserved).toBeLessThanOrEqual(limit);
    expect(seen.resident).toBeLessThan(MAX_RESIDENT_BYTES);

    // Everything is given back, and the next page is fetched as ever.
    const reservedNow = () => service.call("GET", "/ready").then(({ json }) => json.memory.reserved_bytes);
    await expect.poll(reservedNow, { timeout: 40_000, interval: 200 }).toBe(0);
    const after = sites.site({ "/": { body: article("After") } });
    expect(await service.fetch({ url: `${after.origin}/` })).toMatchObject({ error: null, title: "After" });
  });
});
