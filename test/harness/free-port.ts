/** A port of loopback that no process has, for programs of tests and benches. */
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Test workers have ports of their own, and none is given twice: a program that is stopped finds its port free when it starts
 * again.
 */
const PORTS_EACH = 1_500;
const FIRST_PORT = 20_000 + PORTS_EACH * (Number(process.env["VITEST_POOL_ID"] ?? 0) % 8);
const given = new Set<number>();

/** Below the range the system takes for outgoing connections, so no other process is given it in between. */
export async function freePort(): Promise<number> {
  if (given.size > PORTS_EACH / 2) given.clear();
  for (let tries = 0; tries < 50; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS_EACH);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("Cannot find a free port");
}
