import { createServer, type IncomingMessage } from "node:http";
import { createSecureServer, type Http2ServerRequest } from "node:http2";
import type { AddressInfo } from "node:net";
import { Readable, type Writable } from "node:stream";
import { afterAll, describe } from "vitest";
import { destination } from "../../actors/lib/web/destination.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { undiciEgress } from "../../cluster/adapters/egress/egress.undici.ts";
import { pem } from "../harness/hostile-site.ts";
import { egressSuite, type EgressWorld, PAGES } from "./egress.ts";

const closes: (() => unknown)[] = [];
afterAll(() => Promise.all(closes.map((close) => close())));

function* forEver(piece: Buffer): Generator<Buffer> {
  while (true) yield piece;
}

/** Over HTTP/2 the whole session: a stream reset without an error is how a server says that all is well. */
const cut = (request: IncomingMessage | Http2ServerRequest) =>
  "stream" in request ? request.stream.session?.destroy() : request.socket.destroy();

const serve: Parameters<typeof createServer>[1] & object = (request, response) => {
  const page = PAGES[request.url!] ?? { status: 404 };
  response.writeHead(page.status, { ...page.headers });
  if (page.endless) Readable.from(forEver(page.body!)).pipe(response as Writable);
  else if (!page.breaks) response.end(page.body);
  else response.write(page.body, () => setTimeout(() => cut(request), 20));
};

/** The suite's pages over node:http or node:http2, and the real way out to them. */
const overSockets = (http2: boolean) => async (): Promise<EgressWorld> => {
  const server = http2
    ? createSecureServer({ key: pem("site.key.pem"), cert: pem("site.cert.pem") }, serve as never)
    : createServer(serve);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const egress = undiciEgress({ judge: destination({ allow: ["127.0.0.0/8"] }), ca: [pem("site.cert.pem")] });
  closes.push(
    () => egress.close(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  return { egress, origin: `${http2 ? "https" : "http"}://127.0.0.1:${port}` };
};

const ADAPTERS: Readonly<Record<string, () => Promise<EgressWorld>>> = {
  "undici over HTTP/1.1": overSockets(false),
  "undici over HTTP/2": overSockets(true),
  "a fake web": async () => ({
    origin: "http://site.test",
    egress: fakeEgress(
      Object.fromEntries(
        Object.entries(PAGES).map(([path, { breaks, endless, ...page }]) => [
          `http://site.test${path}`,
          {
            ...page,
            ...(breaks ? { breaks: "network_reset" as const } : {}),
            ...(endless ? { body: forEver(page.body!) } : {}),
          },
        ]),
      ),
    ),
  }),
};

describe.each(Object.entries(ADAPTERS))("egress by %s", (_, open) => {
  egressSuite(open);
});
