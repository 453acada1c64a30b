/** Files that are imported again and again: the setting, when and where they are asked for, and the download through the egress guard. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sqliteImports } from "../../../../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { IMPORT_KINDS } from "../../../../../actors/sources/companies/imports/imported-sources.ts";
import { fileToAsk, scheduleOf } from "../../../../../actors/sources/companies/imports/schedule.ts";
import { downloadFile } from "../../../../../actors/sources/companies/imports/adapters/download-file.ts";
import {
  type DownloadRequest,
  scheduledImports,
} from "../../../../../actors/sources/companies/imports/scheduled-imports.ts";
import { IMPORT_KIND_NAMES } from "../../../../../schemas/company-import-kinds.ts";
import { memoryDocuments } from "../../../../../cluster/adapters/documents/documents.memory.ts";
import { undiciEgress } from "../../../../../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../../../../../cluster/adapters/egress/upstream-proxy.ts";
import { virtualClock } from "../../../../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { importOf, PUBLISHED_MS } from "../../../../harness/company-imports.ts";
import { goldenCopy, goldenRow } from "../../../../harness/golden-copy.ts";

const HOUR_MS = 3_600_000;
const files = (text: string) => scheduleOf(text, IMPORT_KINDS);

test("every kind that the command knows is imported, and the other way around", () => {
  expect(IMPORT_KINDS.map(({ name }) => name).toSorted()).toEqual(Object.keys(IMPORT_KIND_NAMES).toSorted());
});

test("a schedule names kinds of files with their addresses and hours", () => {
  const text = " brreg=https://data.example/lastned?a=1@24h\n gleif_isin=http://b.example/x@y.zip@168h";
  expect(files(text).map(({ kind, url, every_ms }) => [kind.name, url, every_ms / HOUR_MS])).toEqual([
    ["brreg", "https://data.example/lastned?a=1", 24],
    ["gleif_isin", "http://b.example/x@y.zip", 168],
  ]);
  expect(files("")).toEqual([]);
});

test.each([
  ["brreg=https://data.example/lastned", "is not KIND=ADDRESS@HOURSh"],
  ["brreg=ftp://data.example/lastned@24h", "is not KIND=ADDRESS@HOURSh"],
  ["nothing=https://data.example/@24h", "is no kind"],
  ["ftm=https://data.example/@24h", "names its licence"],
  ["brreg=https://data.example/@0h", "is not KIND=ADDRESS@HOURSh"],
  ["brreg=https://a.example/@1h brreg=https://b.example/@1h", "twice"],
])("the schedule %j is refused", (text, problem) => {
  expect(() => files(text)).toThrow(problem);
});

test.each([
  [null, null],
  [1, "IntraDay"],
  [7, "LastDay"],
  [21, "LastDay"],
  [23, "LastWeek"],
  [24 * 6, "LastWeek"],
  [24 * 8, "LastMonth"],
  [24 * 40, null],
])(
  "of a source that publishes what changed, %s hours after the last import %s is asked for",
  (hours, delta) => {
    const [file] = files("gleif_lei2=https://gleif.example/latest.csv@8h");
    const now_ms = 1_000 * HOUR_MS;
    expect(fileToAsk(file!, hours === null ? null : now_ms - hours * HOUR_MS, now_ms)).toEqual(
      delta === null
        ? { address: file!.url, is_full: true }
        : { address: `${file!.url}?delta=${delta}`, is_full: false },
    );
    const [other] = files("brreg=https://data.example/lastned@8h");
    expect(fileToAsk(other!, now_ms - HOUR_MS, now_ms).is_full).toBe(true);
  },
);

/** A source's server, its schedule and its import actor's question for the next file. */
async function published(kind: string, path: string) {
  const folder = mkdtempSync(join(tmpdir(), "trawl-schedule-"));
  const asked: { url: string; etag: string | undefined }[] = [];
  const replies: { status: number; headers?: Record<string, string>; body?: string }[] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url!, etag: request.headers["if-none-match"] });
    const { status, headers = {}, body = "" } = replies.shift() ?? { status: 500 };
    response.writeHead(status, headers);
    response.write(body);
    if (headers["content-length"] !== undefined && Number(headers["content-length"]) > body.length)
      response.destroy();
    else response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const egress = undiciEgress({ judge: onlyTo(new URL(base)) });
  const store = sqliteImports(":memory:");
  onTestFinished(async () => {
    await egress.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const clock = virtualClock(PUBLISHED_MS + HOUR_MS);
  const { log } = silentTelemetry();
  const schedule = files(`${kind}=${base}${path}@24h`);
  const own = {
    documents: memoryDocuments(),
    download: (request: DownloadRequest) => downloadFile(egress, request),
    store,
    clock,
    log,
    user_agent: "trawl",
    folder,
    schedule,
  };
  const { source } = schedule[0]!.kind;
  /** Asked from a process that was started just now: all that counts is stored. */
  const next = (signal = new AbortController().signal) => scheduledImports(own)(source, signal);
  return { base, folder, asked, replies, store, clock, next };
}

test("a file is downloaded when it is due, and asked for with its validator after it was begun", async () => {
  const { base, folder, asked, replies, clock, next } = await published("brreg", "/lastned");
  const moved = { status: 302, headers: { location: "/files/enheter-2026-11-20.json?signature=1" } };
  const whole = { status: 200, headers: { etag: '"one"' }, body: "[]" };
  replies.push(moved, whole, moved, whole);
  const first = (await next())!;
  expect(first.order).toEqual({
    kind: "brreg",
    path: join(folder, "scheduled", "brreg"),
    origin: `${base}/files/enheter-2026-11-20.json`,
    publish_ms: Date.UTC(2026, 10, 20),
    is_full: true,
  });
  expect(readFileSync(first.order.path, "utf8")).toBe("[]");
  // The node died before the run was stored.
  await (await next())!.onBegun();
  expect(await next()).toBe(null);
  expect(asked).toHaveLength(4);
  await clock.advance(24 * HOUR_MS);
  replies.push({ status: 304 });
  expect(await next()).toBe(null);
  expect(asked.at(-1)).toEqual({ url: "/lastned", etag: '"one"' });
  expect(await next()).toBe(null);
  expect(asked).toHaveLength(5);
});

test.each([
  ["an error", { status: 500 }],
  ["a file that is cut", { status: 200, headers: { "content-length": "100" }, body: "[" }],
  ["a redirect elsewhere", { status: 302, headers: { location: "http://169.254.169.254/latest" } }],
])("after %s nothing is imported, and the file is asked for an hour later", async (_, reply) => {
  const { folder, asked, replies, clock, next } = await published("brreg", "/lastned");
  replies.push(reply, { status: 200, body: "[]" });
  expect(await next()).toBe(null);
  expect(existsSync(join(folder, "scheduled", "brreg"))).toBe(false);
  expect(await next()).toBe(null);
  expect(asked).toHaveLength(1);
  await clock.advance(HOUR_MS);
  expect(await next()).toMatchObject({ order: { kind: "brreg" } });
});

test("a download that its actor's move ends is no failure: the next owner asks for the file", async () => {
  const { replies, next } = await published("brreg", "/lastned");
  expect(await next(AbortSignal.abort())).toBe(null);
  replies.push({ status: 200, body: "[]" });
  expect(await next()).toMatchObject({ order: { kind: "brreg" } });
});

test("after a whole file of GLEIF only what changed is asked for", async () => {
  const { asked, replies, store, next } = await published("gleif_lei2", "/latest.csv");
  await importOf(store, "lei2.csv", goldenCopy([goldenRow(1)]));
  replies.push({ status: 200, body: "LEI" });
  expect((await next())?.order).toMatchObject({ kind: "gleif_lei2", is_full: false });
  expect(asked).toMatchObject([{ url: "/latest.csv?delta=IntraDay" }]);
});
