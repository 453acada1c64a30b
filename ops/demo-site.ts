/** The demo pages as a site of their own on loopback, so that a service can fetch and crawl them: its own address it never asks (demo.ts). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface DemoSite {
  /** Without a slash at its end. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

const PAGE = /^\/([a-z0-9-]{1,60})$/;

export async function demoSite(): Promise<DemoSite> {
  const server = createServer(({ url = "/" }, reply) => {
    const page = pageOf(PAGE.exec(url)?.[1]);
    if (url === "/robots.txt")
      reply.writeHead(200, { "Content-Type": "text/plain" }).end("User-agent: *\nAllow: /\n");
    else if (page === null) reply.writeHead(404).end();
    else reply.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function pageOf(name: string | undefined): Buffer | null {
  if (name === undefined) return null;
  try {
    return readFileSync(new URL(`demo/${name}.html`, import.meta.url));
  } catch {
    return null;
  }
}
