/** TRAWL_CA_FILE in the browser: pages of a private authority are shown, and no other certificate error is ignored. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createHash, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSigned } from "../../../../cluster/adapters/egress/self-signed.ts";
import { type BrowserSetup, describeBrowser } from "../../../harness/browser-harness.ts";
import { pem } from "../../../harness/hostile-site.ts";
import { article } from "../../../harness/web.ts";

const CA = [pem("authority.cert.pem")];
const open: (() => void)[] = [];
afterAll(() => open.forEach((close) => close()));

/** An https origin with this certificate; its page asks it for a script, and both say so. */
async function origin(name: "inside" | "site", chain: readonly string[] = []) {
  const asked: string[] = [];
  const cert = [pem(`${name}.cert.pem`), ...chain].join("\n");
  const server = createServer({ key: pem(`${name}.key.pem`), cert }, (request, response) => {
    asked.push(request.url!);
    const isPage = request.url !== "/made.js";
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript");
    response.end(isPage ? `${article("Page")}<script src="/made.js"></script>` : 'document.title = "whole"');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

describeBrowser("an authority of the operator", (openSetup) => {
  let it: BrowserSetup;
  let without: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ ca: CA });
    without = await openSetup();
    for (const each of [it, without])
      for (const name of ["inside", "site"]) each.web.name(name, ["127.0.0.1"]);
  });
  afterAll(async () => {
    await it.close();
    await without.close();
  });

  test("is trusted for pages, with all they load", async () => {
    const { port, asked } = await origin("inside");
    const answer = await it.fetch(`https://inside.test:${port}/`);
    expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
    expect(asked).toContain("/made.js");
  });

  test("is not trusted where the operator names none", async () => {
    const { port } = await origin("inside");
    expect(await without.fetch(`https://inside.test:${port}/`)).toMatchObject({
      kind: "failed",
      reason: "tls_error",
    });
  });

  test.each([
    ["another authority signed it", "site", "site", []],
    ["it is for another name", "inside", "site", []],
    ["it only shows the authority's own certificate along", "site", "site", CA],
  ] as const)("a certificate is refused when %s", async (_, certificate, host, chain) => {
    const { port, asked } = await origin(certificate, chain);
    expect(await it.fetch(`https://${host}.test:${port}/`)).toMatchObject({
      kind: "failed",
      reason: "tls_error",
    });
    expect(asked).toEqual([]);
  });
});

describe("the proxy's own certificate", () => {
  test("is a certificate of the key that the browser is told", () => {
    const { cert, spki_sha256 } = selfSigned(Date.UTC(2026, 10, 24));
    const read = new X509Certificate(cert);
    expect(read.verify(read.publicKey)).toBe(true);
    expect(
      createHash("sha256")
        .update(read.publicKey.export({ type: "spki", format: "der" }))
        .digest("base64"),
    ).toBe(spki_sha256);
    expect(read.validFrom).toBe("Nov 23 00:00:00 2026 GMT");
    expect(selfSigned(0).spki_sha256).not.toBe(spki_sha256);
  });
});
