/**
 * Two gateways behind HAProxy and behind nginx, configured as `ops/deploy/compose.yaml` ships and `docs/operating/security.md` documents them:
 * only addresses and ports are others.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterOf, type ClusterOf } from "../harness/cluster-of.ts";
import { freePort } from "../harness/free-port.ts";
import { findProgram, type Program, program } from "../harness/programs.ts";
import { article, type Web, web } from "../harness/web.ts";
import { eventually, everything } from "../gateway/adapters/clients.ts";

/** Hosts of the gateways: the port of the API and that of the status are the same on both. */
const HOSTS = ["127.0.0.1", "127.0.0.2"] as const;

interface Ports {
  readonly front: number;
  readonly api: number;
  readonly status: number;
}

const folder = mkdtempSync(join(tmpdir(), "trawl-proxies-"));
// nginx' workers write bodies there, as another user where its master is root.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

/** The text under a heading of YAML or in a fence of Markdown, without its indentation. */
function excerpt(file: string, found: RegExp): string {
  const [, text] = found.exec(readFileSync(file, "utf8"))!;
  const indentation = /^ */.exec(text!)![0];
  return text!.replaceAll(new RegExp(`^${indentation}`, "gm"), "");
}

const PROXIES = [
  {
    name: "HAProxy, as shipped",
    path: findProgram("haproxy"),
    file: ({ front, api, status }: Ports): string =>
      excerpt("ops/deploy/compose.yaml", /\n {2}haproxy:\n {4}content: \|\n((?: {6}.*\n)+)/)
        // Compose's own escape.
        .replaceAll("$$", "$")
        .replaceAll(/bind :8080/g, `bind 127.0.0.1:${front}`)
        .replaceAll(/gateway-(\d):8080/g, (_, n) => `${HOSTS[Number(n) - 1]}:${api}`)
        .replaceAll("port 8081", `port ${status}`),
    words: (file: string) => ["-db", "-f", file],
  },
  {
    name: "nginx, as documented",
    path: findProgram("nginx"),
    // The documented block is a file of conf.d; Debian's nginx.conf includes it in `http`.
    file: ({ front, api }: Ports): string => `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events {}
http {
access_log off;
${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`).join("\n")}
${excerpt("docs/operating/security.md", /```nginx\n([^`]+)```/)
  .replaceAll("listen 80;", `listen 127.0.0.1:${front};`)
  .replaceAll(/10\.0\.0\.(\d):8080/g, (_, n) => `${HOSTS[Number(n) - 1]}:${api}`)}
}
`,
    words: (file: string) => ["-c", file, "-p", folder],
  },
];

/** Sends a request as bytes; its connection is closed behind it. */
async function raw(port: number, bytes: string, host = "127.0.0.1"): Promise<string> {
  const socket = connect({ port, host });
  socket.on("error", () => {});
  socket.write(bytes);
  return everything(socket);
}

describe("two gateways behind a proxy", () => {
  let sites: Web;
  let cluster: ClusterOf | null = null;
  let ports: Ports;
  let page = "";
  beforeAll(async () => {
    sites = await web();
    page = `${sites.site({ "/": { body: article("Proxied") } }).origin}/`;
    ports = { front: 0, api: await freePort(), status: await freePort() };
    cluster = await clusterOf(["worker"], {
      environment: {
        TRAWL_DNS_SERVERS: sites.dns,
        TRAWL_DEMO: "off",
        TRAWL_TRUSTED_PROXIES: "127.0.0.0/8",
        TRAWL_PUBLIC_URL: "http://trawl.test",
      },
    });
    if (!cluster) return;
    for (const host of HOSTS)
      await cluster.add("gateway", {
        HOST: host,
        PORT: String(ports.api),
        TRAWL_STATUS_PORT: String(ports.status),
      });
  });
  afterAll(async () => {
    await cluster?.close();
    await sites?.close();
  });

  test("the port of a node's status answers HTTP/1.0, and its metrics to this machine", async ({ skip }) => {
    if (!cluster) skip("an engine is missing");
    expect(await raw(ports.status, "GET /ready HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(await raw(ports.status, "GET /metrics HTTP/1.0\r\n\r\n")).toContain("trawl_http_requests_total");
  });

  describe.each(PROXIES)("$name", ({ path, file, words }) => {
    let proxy: Program | null = null;
    let url = "";
    const call = (method: string, at: string, body?: string | Buffer) =>
      fetch(`${url}${at}`, {
        method,
        headers: { authorization: `Bearer ${cluster!.key}` },
        ...(body !== undefined && { body }),
      });
    beforeAll(async () => {
      if (!cluster || path === null) return;
      const front = await freePort();
      url = `http://127.0.0.1:${front}`;
      const name = join(folder, `proxy-${front}.conf`);
      writeFileSync(name, file({ ...ports, front }));
      proxy = await program(path, words(name), front);
      await eventually(async () => (await fetch(`${url}/ready`)).status === 200, 20_000);
    });
    afterAll(async () => proxy?.close());

    test("health, a fetch and a batch of 64 MB", async ({ skip }) => {
      if (!proxy) skip("the proxy or an engine is missing");
      for (let n = 0; n < 10; n++) expect((await fetch(`${url}/health`)).status).toBe(200);
      const fetched = await call("POST", "/v1/fetch", JSON.stringify({ url: page }));
      expect([fetched.status, ((await fetched.json()) as any).error]).toEqual([200, null]);
      const item = `{"idempotency_key":"${url}","items":[{"url":"${page}"}`;
      const large = Buffer.from(`${item}${" ".repeat(64 * 2 ** 20 - item.length - 2)}]}`);
      expect((await call("POST", "/v1/batch/fetch", large)).status).toBe(202);
      // The clients' addresses arrive: limits by address are not shared by all.
      expect((await call("GET", "/v1/status")).status).toBe(200);
    });

    test("the results of a job that is followed come one by one", async ({ skip }) => {
      if (!proxy) skip("the proxy or an engine is missing");
      const items = Array.from({ length: 3 }, (_, n) => ({ url: `${page}?${n}` }));
      const created = await call(
        "POST",
        "/v1/batch/fetch",
        JSON.stringify({ idempotency_key: `${url} followed`, items }),
      );
      const { job_id } = (await created.json()) as any;
      const followed = await call("GET", `/v1/jobs/${job_id}/results?follow=true`);
      const lines = (await followed.text()).trim().split("\n");
      expect([followed.status, lines.length]).toEqual([200, 3]);
    });

    test.each([
      "/metrics",
      "/debug/x",
      "/v1/ops/nodes",
      "//metrics",
      "/./metrics",
      "/v1/../metrics",
      "/%6detrics",
    ])("%s is not reachable from outside", async (at) => {
      if (!proxy) return;
      const port = Number(new URL(url).port);
      const asked = `GET ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${cluster!.key}\r\nConnection: close\r\n\r\n`;
      expect(await raw(port, asked)).toMatch(/^HTTP\/1\.1 40[04] /);
    });

    test("the gateways themselves show nobody their metrics on the API's port", async ({ skip }) => {
      if (!proxy) skip("the proxy or an engine is missing");
      for (const host of HOSTS) expect((await fetch(`http://${host}:${ports.api}/metrics`)).status).toBe(404);
    });
  });
});
