/**
 * Setup for tests of the route `browser`: a real Chromium behind the real guard, a web on loopback, and leave to
 * enter that is written down.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe } from "vitest";
import { destination } from "../../actors/lib/web/destination.ts";
import type {
  Admission,
  AdmitOptions,
  OriginAnswer,
  Transport,
  TransportResult,
  TransportRequest,
} from "../../actors/lib/web/transport.ts";
import { type BrowserPool, browserPool } from "../../actors/crawl/tiers/adapters/browser-pool.ts";
import type { PoolLimits } from "../../actors/crawl/tiers/adapters/pool-limits.ts";
import { readProcess } from "../../actors/crawl/tiers/adapters/browser-memory.ts";
import { type Chromium, findChromium } from "../../actors/crawl/tiers/adapters/chromium.ts";
import { programFolder, sandboxed } from "../../actors/crawl/tiers/adapters/sandbox.ts";
import type { PageLimits } from "../../actors/crawl/tiers/adapters/page-visit.ts";
import { browserTransport } from "../../actors/crawl/tiers/adapters/transport.browser.ts";
import type { OpenOwnRequest } from "../../actors/lib/web/own-request.ts";
import { secretsOpener } from "../../actors/lib/web/session-secrets.ts";
import type { OwnRequest } from "../../schemas/own-request.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import type { Judge } from "../../cluster/adapters/egress/pinned-connect.ts";
import { type EgressProxyServer, egressProxy } from "../../cluster/adapters/egress/egress.proxy.ts";
import { admission, transportRequest } from "./transport-request.ts";
import { type Web, web } from "./web.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

/** Kept from run to run: what npm brought need not be unpacked again. */
const folder = programFolder(
  fileURLToPath(new URL("../../node_modules/.cache/trawl-chromium", import.meta.url)),
);
const starts = async (one: Chromium | null): Promise<boolean> =>
  one !== null &&
  (await one.ready().then(
    () => true,
    () => false,
  ));
/** Which of them a run is about: BROWSER=npm, system or both, which must be there; without it each that is. */
const wanted = process.env["BROWSER"];

/** Each kind of Chromium there is here, by name. */
export const browsers: [name: string, chromium: Chromium][] = [];
/** Chromium of this machine, also where a run is about npm's alone: for tests that show pages of this service to people. */
export const system = findChromium({ path: null, folder, archives: null });
if (wanted !== "npm" && system) browsers.push(["Chromium of the system", system]);
const npm = findChromium({ path: null, folder, system: [] });
if (wanted !== "system" && (await starts(npm))) browsers.push(["Chromium from npm", npm!]);
if (wanted && browsers.length < (wanted === "both" ? 2 : 1))
  throw new Error(
    `BROWSER=${wanted}, and only these are here: ${browsers.map(([name]) => name).join(", ") || "none"}`,
  );

const describeWhereThereIsOne = browsers.length > 0 ? describe : describe.skip;
const subjects: readonly [name: string, chromium: Chromium | null][] =
  browsers.length > 0 ? browsers : [["no browser", null]];

/**
 * Everything that needs a browser, once on each: `suite` gets a function that opens a setup with that browser. Where none can be started it is
 * skipped.
 */
export function describeBrowser(
  name: string,
  suite: (openSetup: OpenBrowserSetup, title: string) => void,
): void {
  describeWhereThereIsOne.each(subjects)(`${name}, %s`, (title, chromium) =>
    describeOn(suite, title, chromium!),
  );
}

/** Behaviour that does not depend on the build of the browser, such as limits that this service counts, or what is done with a page: once, on npm's where it is, which needs half the CPU time. */
export function describeOneBrowser(
  name: string,
  suite: (openSetup: OpenBrowserSetup, title: string) => void,
): void {
  describeWhereThereIsOne.each(subjects.slice(-1))(`${name}, %s`, (title, chromium) =>
    describeOn(suite, title, chromium!),
  );
}

/** In its sandbox where the kernel grants one, as root under another user, as the service runs it. */
function describeOn(suite: Parameters<typeof describeBrowser>[1], title: string, found: Chromium): void {
  const chromium = sandboxed(found, { setting: "auto", folder });
  afterAll(() => chromium.close());
  suite((options) => browserSetup({ chromium, ...options }), title);
}

export const loopback = destination({ allow: ["127.0.0.0/8"] });
/** 127.0.0.1 counts as a public address; all other addresses are judged as in production. */
const judge: Judge = {
  url: loopback.url,
  address: (address, port) => (address === "127.0.0.1" ? "allowed" : destination().address(address, port)),
};

export interface Visit {
  readonly url: string;
  /** Null until it is released; a second release is a bug of the route. */
  readonly released: OriginAnswer[];
}

export interface BrowserSetup {
  readonly web: Web;
  readonly proxy: EgressProxyServer;
  readonly pool: BrowserPool;
  /** Bodies of archived exchanges. */
  readonly blobs: Blobs;
  /** Names that the proxy refused to connect to. */
  readonly refused: string[];
  readonly visits: Visit[];
  /** Addresses for which robots.txt alone was asked. */
  readonly robots_asked: string[];
  readonly fetch: (url: string, over?: Partial<TransportRequest>) => Promise<TransportResult>;
  /** A setup over the same browsers, web and visits, with other limits for each page. */
  readonly withLimits: (page: Partial<PageLimits>) => BrowserSetup;
  readonly close: () => Promise<void>;
}

/** A setup with the suite's browser, unless a test passes another. */
export type OpenBrowserSetup = (options?: Partial<BrowserSetupOptions>) => Promise<BrowserSetup>;

interface BrowserSetupOptions {
  readonly chromium: Chromium;
  readonly pool?: Partial<PoolLimits>;
  readonly page?: Partial<PageLimits>;
  readonly judge?: Judge;
  /** Authorities beside the public ones, PEM. */
  readonly ca?: readonly string[];
}

export async function browserSetup(options: BrowserSetupOptions): Promise<BrowserSetup> {
  const local = await web();
  const refused: string[] = [];
  const visits: Visit[] = [];
  const robots_asked: string[] = [];
  const proxy = await egressProxy({
    judge: options.judge ?? judge,
    dns_servers: [local.dns],
    ...(options.ca && { ca: options.ca }),
    onRefused: (host, problem) => void refused.push(`${host} ${problem}`),
  });
  const pool = browserPool({
    chromium: options.chromium,
    proxy,
    ...silentTelemetry(),
    limits: { pages: 4, ...options.pool },
  });
  const admit = (url: string, { is_robots_only = false }: AdmitOptions = {}): Promise<Admission> => {
    const visit: Visit = { url, released: [] };
    if (is_robots_only) robots_asked.push(url);
    else visits.push(visit);
    return Promise.resolve(admission((answer) => void visit.released.push(answer)));
  };
  const blobs = memoryBlobs();
  const setup = (page: Partial<PageLimits> = {}): BrowserSetup => {
    const limits = { settle_ms: 2_000, ...page };
    const openOwn: OpenOwnRequest = ({ own }) => (own ? (JSON.parse(own.sealed) as OwnRequest) : null);
    const transport = browserTransport({
      pool,
      clock: systemClock(),
      destination: loopback,
      limits,
      openOwn,
      // As they are in the request.
      openSecrets: secretsOpener({ open: (text) => text }),
      blobs,
    });
    return { ...shared, fetch: fetchBy(transport), withLimits: (over) => setup({ ...page, ...over }) };
  };
  const fetchBy =
    (transport: Transport): BrowserSetup["fetch"] =>
    (url, over = {}) =>
      transport(transportRequest(url, { admit, ...over }));
  const shared = {
    web: local,
    proxy,
    pool,
    blobs,
    refused,
    visits,
    robots_asked,
    async close() {
      await pool.close();
      await proxy.close();
      await local.close();
    },
  };
  return setup(options.page);
}

interface Process {
  readonly pid: number;
  readonly group: number;
  readonly command: string;
}

/** Processes of a browser's group that live, of one type or all; those that only wait to be counted out do not. */
export function living(group: number, type = ""): readonly Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // After the name in brackets: state, parent, group.
        const [state, , of] = readFileSync(`/proc/${name}/stat`, "latin1")
          .replace(/^.*\) /s, "")
          .split(" ");
        if (state === "Z" || Number(of) !== group) return [];
        const command = readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ");
        return command.includes(`--type=${type}`) || type === ""
          ? [{ pid: Number(name), group, command }]
          : [];
      } catch {
        return []; // It has just ended.
      }
    });
}

/** Memory of the processes that the pages of a browser share. */
export const sharedProcessesMb = (browser: number): number =>
  living(browser).reduce((sum, { pid, command }) => {
    const type = /--type=(\w+)/.exec(command)?.[1] ?? "browser";
    return sum + (type === "renderer" ? 0 : (readProcess(pid, type)?.mb ?? 0));
  }, 0);

export const isAlive = (browser: number): boolean => living(browser).length > 0;

/** Memory of the processes of a browser, shared pages counted once. */
export const memoryMb = (browser: number): number =>
  living(browser).reduce((sum, { pid }) => {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
      return sum + Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1_024;
    } catch {
      return sum; // It has just ended.
    }
  }, 0);
