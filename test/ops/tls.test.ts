/** HTTPS by a certificate and a key in files, replaced while clients are connected. Certificates are made by openssl. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { chooseHttp } from "../../gateway/adapters/choose-http.ts";
import { openTlsFiles } from "../../ops/tls-files.ts";
import { findProgram } from "../harness/programs.ts";

const openssl = findProgram("openssl");
const folder = mkdtempSync(join(tmpdir(), "trawl-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

function makePair(name: string): void {
  const key = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    path(`${name}.key`),
  ];
  const cert = ["-x509", "-days", "30", "-subj", `/CN=${name}`, "-out", path(`${name}.cert`)];
  execFileSync(openssl!, ["req", ...key, ...cert], { stdio: "ignore" });
}

const use = (cert: string, key: string): void => {
  copyFileSync(path(`${cert}.cert`), path("live.cert"));
  copyFileSync(path(`${key}.key`), path("live.key"));
};

function opened() {
  const clock = virtualClock(0);
  const telemetry = silentTelemetry();
  const files = { cert_file: path("live.cert"), key_file: path("live.key") };
  const tls = openTlsFiles(files, { clock, log: telemetry.log });
  return { clock, telemetry, tls };
}

describe.skipIf(openssl === null)("a certificate in files (needs openssl)", () => {
  beforeAll(() => {
    makePair("first");
    makePair("second");
  });

  test("is replaced within ten seconds; a pair that does not fit is not used, and said once", async () => {
    use("first", "first");
    const { clock, telemetry, tls } = opened();
    const { cert } = tls.current();
    // The key comes a moment after its certificate.
    use("second", "first");
    await clock.advance(30_000);
    expect(tls.current().cert).toBe(cert);
    expect(telemetry.lines.map(({ message }) => message)).toEqual(["The new certificate is not used"]);
    use("second", "second");
    await clock.advance(10_000);
    expect(tls.current().cert).not.toBe(cert);
    expect(telemetry.lines.at(-1)).toMatchObject({ level: "info", message: "The certificate was replaced" });
    tls.close();
  });

  test("that cannot be used keeps the node from starting, with a sentence", () => {
    use("first", "second");
    expect(opened).toThrow(/^Cannot use the certificate ".*live\.cert" with the key ".*live\.key": /);
    rmSync(path("live.key"));
    expect(opened).toThrow(/ENOENT/);
  });

  test("is what clients get, the new one on new connections, and open connections go on", async () => {
    use("first", "first");
    const { clock, tls } = opened();
    const { listen, sentence } = await chooseHttp({ isTls: true, isNode: false });
    expect(sentence).toBe("HTTPS by node:http");
    const admit = () => ({ status: 200, body: Buffer.from("hello") });
    const options = { host: "127.0.0.1", port: 0, shared: false, tls, failed: () => ({ status: 500 }) };
    const listening = await listen(admit, options);
    const ask = async (agent: Agent): Promise<string> => {
      const request = get({ port: listening.port, agent, rejectUnauthorized: false });
      const [response] = await once(request, "response");
      const { CN } = (response.socket as TLSSocket).getPeerCertificate().subject;
      for await (const piece of response) expect(String(piece)).toBe("hello");
      return String(CN);
    };
    const [kept, fresh] = [
      new Agent({ keepAlive: true, maxCachedSessions: 0 }),
      new Agent({ maxCachedSessions: 0 }),
    ];
    try {
      expect(await ask(kept)).toBe("first");
      use("second", "second");
      await clock.advance(10_000);
      expect(await ask(fresh)).toBe("second");
      expect(await ask(kept)).toBe("first");
      // A client that speaks no TLS is disconnected, and others go on.
      const plain = connectPlain(listening.port, "127.0.0.1");
      plain.on("error", () => {});
      plain.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      await once(plain, "close");
      expect(await ask(fresh)).toBe("second");
    } finally {
      kept.destroy();
      fresh.destroy();
      tls.close();
      await listening.close(0);
    }
  });
});
