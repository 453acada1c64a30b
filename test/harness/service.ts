/**
 * The real program as a child process, spoken to over HTTP and through its command line: for scenarios that know
 * nothing of what is inside. `SETUPS` says in which shapes it is started; a scenario runs on each of them.
 *
 * Every answer is held to the OpenAPI document the service serves.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { FetchBody, FetchResponse } from "../../schemas/fetch.ts";
import { runCommand } from "./command-line.ts";
import type { EarlierVersion } from "./earlier-version.ts";
import { engines } from "./engines.ts";
import { secretsFileIn } from "./secrets.ts";
import { freePort } from "./free-port.ts";
import type { HttpResponse, RequestOptions } from "./http-response.ts";
import { natsNodeDirectory } from "../../cluster/adapters/nodes/node-directory.nats.ts";
import { type Check, openapiCheck } from "./openapi-check.ts";
import { programWords } from "./program-words.ts";
import { settled } from "./settled.ts";
import { wholeApi } from "./api-documents.ts";

export type Environment = Readonly<Record<string, string>>;

export type FetchResult = FetchResponse & {
  /** Status of the HTTP answer around it. */
  readonly http: number;
  readonly answer: HttpResponse;
};

export interface Service {
  /** http://127.0.0.1:port; the same after a restart. */
  readonly url: string;
  /** An account admin key. */
  readonly key: string;
  readonly operator_key: string;
  /** Environment of its first process, for tests that look into its stores. */
  readonly environment: Environment;
  readonly call: (method: string, path: string, options?: RequestOptions) => Promise<HttpResponse>;
  /** POST /v1/fetch with the admin key or another; throws unless a FetchResponse came. */
  readonly fetch: (body: FetchBody, options?: Omit<RequestOptions, "body">) => Promise<FetchResult>;
  /**
   * Runs a command of `trawl` beside the service; its last line of output as JSON. Throws when it fails. A process; of those that
   * only write accounts or verify a job (`HERE`) only the first by each name.
   */
  readonly trawl: (...words: string[]) => Promise<any>;
  /** The sum of one metric of /metrics over its labels, or over the series whose labels contain the text `labels`. */
  readonly meter: (name: string, labels?: string) => Promise<number>;
  /** SIGTERM; resolves when the process is gone. What is in flight is not hung up on. */
  readonly stop: () => Promise<Ended>;
  /** kill -9. */
  readonly kill: () => Promise<void>;
  /** After it ended: starts it again on the same address and the same data, by default this version. */
  readonly restart: (version?: EarlierVersion) => Promise<void>;
  /** Milliseconds from the last start of the process to the first answer of /health. */
  readonly started_ms: () => number;
  /** Ids of the processes that run now, one for each node. */
  readonly pids: () => readonly number[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Ends what still runs and removes the data. */
  readonly close: () => Promise<void>;
}

export interface Ended {
  readonly code: number | null;
  readonly ms: number;
}

/** Everything a scenario may set; the shape's own settings (stores, bus, roles) are the shape's. `version`: another than this one. */
export type Start = (environment?: Environment, version?: EarlierVersion) => Promise<Service>;

/** Minutes of a busy machine: two nodes take 4 s of CPU together. */
const MAX_HEALTHY_MS = 55_000;
const MAX_ENDED_MS = 30_000;

/** Answers are held to the document of the first service that the process starts; all have the same routes. */
let check: Check | null = null;

/** Commands that scenarios give by the dozen to be set up, and that differ in nothing but their stores from those before them. */
const HERE = /^(?:key|project|customer|rate|job verify)\b/;

export const ADMIN_KEY = "ak_scenarios_0123456789abcdef";
export const OPERATOR_KEY = "ok_scenarios_0123456789abcdef";

/** Settings that every node of a scenario is given, whatever shape the service has. */
const common = (port: number, folder: string): Environment => ({
  PATH: process.env["PATH"] ?? "",
  HOST: "127.0.0.1",
  PORT: String(port),
  TRAWL_DATA_DIR: folder,
  TRAWL_ADMIN_KEY: ADMIN_KEY,
  TRAWL_OPERATOR_KEY: OPERATOR_KEY,
  TRAWL_EGRESS_ALLOW: "127.0.0.0/8",
  // Suites have several customers, whose sites are on loopback.
  TRAWL_EGRESS_ALLOW_PROJECTS: "*",
  TRAWL_ARCHIVE_URL: "none",
  // Sources of companies that nothing in a suite stands for never answer.
  TRAWL_GLEIF_URL: "http://127.0.0.1:9/",
  TRAWL_OPENFIGI_URL: "http://127.0.0.1:9/",
  TRAWL_CHROMIUM_PATH: "none",
  // Suites run as root, also in containers that grant no sandbox.
  TRAWL_CHROMIUM_SANDBOX: "auto",
  TRAWL_DEMO: "off",
  TRAWL_POLITE_DELAY_MS: "5",
  // Some hundred services are started, most of which read few pages.
  TRAWL_WARM_READERS: "off",
});

/** A process on the embedded engines. An empty TRAWL_ADMIN_KEY lets the first start draw a key. */
const embedded: Start = async (overrides = {}, version) => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-scenario-"));
  const port = await freePort();
  const environment = { ...common(port, folder), ...overrides };
  const url = `http://127.0.0.1:${environment["PORT"]}`;
  return service([{ environment, status_url: url }], url, {
    version,
    removeData: () => rmSync(folder, { recursive: true }),
  });
};

const { bus, documents, blobs } = await engines("bus", "documents", "blobs");
let clusters = 0;

/** Two nodes that do everything, behind one port, over NATS, MongoDB and S3. */
const cluster: Start = async (overrides = {}, version) => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-scenario-"));
  const port = overrides["PORT"] ?? String(await freePort());
  const name = `scenario-${process.pid}-${clusters++}`;
  const shared = {
    ...blobs,
    TRAWL_BUS: `${bus!["TRAWL_BUS"]}/${name}`,
    TRAWL_DOCUMENTS: documents!["TRAWL_DOCUMENTS"]!.replace(/\/[^/?]*(?=\?|$)/, `/${name}`),
    TRAWL_BLOBS: `${blobs!["TRAWL_BLOBS"]}/${name}`,
  };
  const processes = [];
  const key_file = secretsFileIn(folder);
  for (const node of ["one", "two"]) {
    const status_port = String(await freePort());
    processes.push({
      environment: {
        ...common(Number(port), join(folder, node)),
        // Nodes that share no files have no index of their own; this instance never answers.
        TRAWL_SEARXNG_URLS: "http://127.0.0.1:9/",
        TRAWL_SECRETS_KEY_FILE: key_file,
        ...overrides,
        ...shared,
        TRAWL_STATUS_PORT: status_port,
      },
      status_url: `http://127.0.0.1:${status_port}`,
    });
  }
  return service(processes, `http://127.0.0.1:${port}`, {
    version,
    removeData: () => rmSync(folder, { recursive: true }),
  });
};

/** How the service is started; scenarios are run on each with describe.each(SETUPS). */
export const SETUPS: readonly { readonly setup: string; readonly start: Start }[] = [
  { setup: "embedded", start: embedded },
  // Where an engine is missing, test/harness/engines.setup.ts says so.
  ...(bus && documents && blobs ? [{ setup: "a cluster of two", start: cluster }] : []),
];

/** A process of a service, and where it alone answers. */
interface NodeProcess {
  readonly environment: Environment;
  readonly status_url: string;
}

async function service(
  processes: readonly NodeProcess[],
  url: string,
  {
    version: first,
    removeData,
  }: { readonly version: EarlierVersion | undefined; readonly removeData: () => void },
): Promise<Service> {
  let version = first;
  const programs: ChildProcess[] = [];
  let stdout = "";
  let stderr = "";
  let started_ms = 0;
  /** Commands of `HERE` that were a process. */
  const begun = new Set<string>();
  let agent = new Agent({ connections: 256, pipelining: 1 });
  const { environment } = processes[0]!;
  const key = environment["TRAWL_ADMIN_KEY"] ?? "";

  async function call(method: string, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
    const { body } = options;
    const raw = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
    const bearer = options.key === undefined ? key : options.key;
    const answer = await request(`${url}${path}`, {
      method: method as "GET",
      dispatcher: agent,
      headers: { ...(bearer !== null && { authorization: `Bearer ${bearer}` }), ...options.headers },
      body: raw ? (body ?? null) : JSON.stringify(body),
      headersTimeout: 180_000,
      bodyTimeout: 180_000,
      ...(options.signal && { signal: options.signal }),
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const headers = Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
    );
    const content_type = headers["content-type"] ?? null;
    const wrong =
      options.is_lean || version
        ? null
        : check?.({ method, path, status: answer.statusCode, content_type, bytes });
    assert(!wrong, wrong ?? undefined);
    assert.match(headers["x-request-id"] ?? "none", /^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    const isJson = content_type === "application/json" && bytes.length > 0;
    return { status: answer.statusCode, headers, bytes, json: isJson ? JSON.parse(bytes.toString()) : null };
  }

  async function launchOne({ environment: env, status_url }: NodeProcess): Promise<void> {
    const began = performance.now();
    const program = spawn(process.execPath, [...programWords(version?.checkout), "start"], {
      env: version?.settings(env) ?? env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    programs.push(program);
    let greeting = "";
    const isGreeting = Promise.withResolvers<void>();
    program.stdout.on("data", (text: Buffer) => {
      greeting += text.toString();
      stdout += text.toString();
      if (greeting.includes("Trawl answers at")) isGreeting.resolve();
    });
    program.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
    program.once("close", () => isGreeting.resolve());
    await Promise.race([isGreeting.promise, sleep(MAX_HEALTHY_MS, null, { ref: false })]);
    while (performance.now() - began < MAX_HEALTHY_MS) {
      assert(program.exitCode === null, `The service ended while it started:\n${stderr}`);
      const healthy = await request(`${status_url}/health`, { dispatcher: agent }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode === 200;
        },
        () => false,
      );
      if (healthy) return;
      await sleep(10);
    }
    throw new Error(`The service does not answer /health:\n${stderr}`);
  }

  async function launch(): Promise<void> {
    const began = performance.now();
    await Promise.all(processes.map(launchOne));
    started_ms = performance.now() - began;
    if (version) return;
    if (environment["TRAWL_BUS"]) {
      // Partitions that move while the second node joins are another test's business.
      const nodeDirectory = await natsNodeDirectory(environment["TRAWL_BUS"]);
      try {
        await settled(nodeDirectory, processes.length);
      } finally {
        await nodeDirectory.close();
      }
    }
    check ??= openapiCheck(await wholeApi((path) => call("GET", path, { key: null })));
  }

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<Ended> {
    const began = performance.now();
    const codes = await Promise.all(
      programs.splice(0).map(async (program) => {
        if (program.exitCode === null && program.signalCode === null) {
          const ended = once(program, "exit");
          program.kill(signal);
          const late = setTimeout(() => program.kill("SIGKILL"), MAX_ENDED_MS);
          await ended;
          clearTimeout(late);
        }
        return program.exitCode;
      }),
    );
    const odd = codes.filter((code) => code !== 0);
    return { code: odd.length > 0 ? odd[0]! : 0, ms: performance.now() - began };
  }

  try {
    await launch();
  } catch (problem) {
    await end("SIGKILL");
    await agent.destroy();
    removeData();
    throw problem;
  }
  return {
    url,
    key,
    operator_key: environment["TRAWL_OPERATOR_KEY"] ?? "",
    environment,
    call,
    async fetch(body, options = {}) {
      const answer = await call("POST", "/v1/fetch", { ...options, body });
      assert(answer.status === 200 || answer.json?.error, `Not a FetchResponse: ${answer.bytes.toString()}`);
      return { ...(answer.json as FetchResponse), http: answer.status, answer };
    },
    async trawl(...words) {
      const [name] = HERE.exec(words.join(" ")) ?? [];
      if (name !== undefined && begun.has(name) && !version)
        return JSON.parse(await runCommand(environment, [...words, "--json"]));
      if (name !== undefined) begun.add(name);
      const program = spawn(process.execPath, [...programWords(version?.checkout), ...words, "--json"], {
        env: version?.settings(environment) ?? environment,
      });
      let out = "";
      let err = "";
      program.stdout.on("data", (text: Buffer) => (out += text.toString()));
      program.stderr.on("data", (text: Buffer) => (err += text.toString()));
      const [code] = (await once(program, "close")) as [number];
      assert(code === 0, `trawl ${words[0]} ended with ${code}: ${out}${err}`);
      return JSON.parse(out);
    },
    async meter(name, labels = "") {
      const pages = await Promise.all(
        processes.map(async ({ status_url }) =>
          (await request(`${status_url}/metrics`, { dispatcher: agent })).body.text(),
        ),
      );
      return pages
        .flatMap((page) => page.split("\n"))
        .filter((line) => /^[^{ ]*/.exec(line)![0] === name && line.includes(labels))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    },
    stop: () => end("SIGTERM"),
    async kill() {
      await end("SIGKILL");
    },
    async restart(next) {
      version = next;
      // Connections to a process that is gone are of no use to the next one.
      await agent.destroy();
      agent = new Agent({ connections: 256, pipelining: 1 });
      await launch();
    },
    started_ms: () => started_ms,
    pids: () => programs.map((program) => program.pid!),
    stdout: () => stdout,
    stderr: () => stderr,
    async close() {
      await end("SIGKILL");
      await agent.destroy();
      removeData();
    },
  };
}
