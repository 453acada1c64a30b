/** A port of loopback that no process has, for programs of tests and benches. */
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the range the system takes for outgoing connections, so no other process is given it in between. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
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
