/**
 * A real metasearch server for tests: Debian's searx 1.1 on loopback, with engines that ask a page server of the
 * test only. Null where it is not installed (apt-get install searx); the suite then prints one line that says so.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Debian's package, run by Debian's Python: another one on the PATH does not have its modules. */
const PROGRAM = ["/usr/bin/python3", "/usr/bin/searx-run"] as const;
const MAX_STARTED_MS = 30_000;

export interface Hit {
  readonly url: string;
  readonly title: string;
  readonly content?: string;
}

/**
 * Answer of an engine's upstream to a query: results, or a status and a body as the world sends them. None just
 * hangs: when searx 1.1 gives up on one, it now and then writes its list of failed engines while it grows, and answers 500.
 */
export type Upstream = (
  query: string,
) => readonly Hit[] | { readonly status: number; readonly body: string } | "hang up";

export interface Searx {
  readonly url: string;
  /** Queries that upstreams were asked, as "engine query". */
  readonly asked: readonly string[];
  /** Output of the program. */
  readonly log: () => string;
  readonly close: () => Promise<void>;
}

export const hasSearx = (): boolean => PROGRAM.every((path) => existsSync(path));

/** Engines by name. JSON needs no enabling here: that came with SearXNG. */
export async function searx(engines: Readonly<Record<string, Upstream>>): Promise<Searx> {
  const asked: string[] = [];
  const names = Object.keys(engines);
  const upstreams = createServer((request, response) => {
    const url = new URL(request.url!, "http://localhost");
    const name = names[Number(url.pathname.slice(1))]!;
    const query = url.searchParams.get("q") ?? "";
    asked.push(`${name} ${query}`);
    const answer = engines[name]!(query);
    if (answer === "hang up") return void request.socket.destroy();
    if ("status" in answer) response.writeHead(answer.status).end(answer.body);
    else response.end(JSON.stringify({ hits: answer.map((hit) => ({ content: "", ...hit })) }));
  }).listen(0, "127.0.0.1");
  await once(upstreams, "listening");
  const { port: pages } = upstreams.address() as AddressInfo;
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "trawl-searx-"));
  const path = join(folder, "settings.yml");
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(settings(port, pages, names)));
  const program = spawn(PROGRAM[0], [PROGRAM[1]], {
    env: { PATH: "/usr/bin:/bin", SEARX_SETTINGS_PATH: path, HOME: folder, LANG: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [program.stdout, program.stderr]) stream.on("data", (text: Buffer) => (log += text));
  const url = `http://127.0.0.1:${port}`;
  const close = async () => {
    await ended(program);
    upstreams.close();
    upstreams.closeAllConnections();
    rmSync(folder, { recursive: true });
  };
  const began = performance.now();
  while (performance.now() - began < MAX_STARTED_MS && program.exitCode === null) {
    const up = await fetch(`${url}/about`).then(
      ({ body }) => body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (up) return { url, asked, log: () => log, close };
    await sleep(50);
  }
  await close();
  throw new Error(`searx did not start:\n${log}`);
}

async function ended(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const exited = once(program, "exit");
  program.kill("SIGKILL");
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Everything searx 1.1 insists on, and no engine of the world's. */
function settings(port: number, pages: number, names: readonly string[]) {
  const urls = [
    "git_url",
    "git_branch",
    "issue_url",
    "docs_url",
    "public_instances",
    "wiki_url",
    "twitter_url",
  ];
  return {
    general: { debug: false, instance_name: "searx", contact_url: false, enable_stats: false },
    brand: Object.fromEntries(urls.map((name) => [name, ""])),
    search: {
      safe_search: 0,
      autocomplete: "",
      default_lang: "",
      ban_time_on_fail: 0,
      max_ban_time_on_fail: 0,
      prefer_configured_language: false,
    },
    server: {
      port,
      bind_address: "127.0.0.1",
      secret_key: "for a test",
      base_url: false,
      image_proxy: false,
      http_protocol_version: "1.0",
      method: "GET",
      default_http_headers: {},
    },
    ui: {
      static_path: "/usr/share/python3-searx/static",
      templates_path: "/usr/share/python3-searx/templates",
      default_theme: "oscar",
      default_locale: "",
      theme_args: { oscar_style: "logicodev" },
    },
    outgoing: { request_timeout: 8, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10 },
    checker: { off_when_debug: true },
    doi_resolvers: { none: "http://127.0.0.1:9/" },
    default_doi_resolver: "none",
    locales: { en: "English", de: "Deutsch" },
    engines: names.map((name, at) => ({
      name,
      engine: "json_engine",
      shortcut: `e${at}`,
      categories: "general",
      enable_http: true,
      time_range_support: true,
      timeout: 8,
      search_url: `http://127.0.0.1:${pages}/${at}?q={query}`,
      results_query: "hits",
      url_query: "url",
      title_query: "title",
      content_query: "content",
    })),
  };
}
