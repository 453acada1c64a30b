/** NATS behind mutual TLS and a user's key (nkey), as TRAWL_BUS names their files. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkNats } from "../../cluster/adapters/bus/connection.nats.ts";
import { start } from "../../ops/engines/adapters/process.ts";
import type { Engine } from "../../ops/engines/engine.ts";
import { CONFIGURATION } from "../../ops/engines/nats.ts";
import { engineProgram } from "../harness/engines.ts";

/** Made for this test, and used nowhere else. */
const USER = {
  public: "UC5VP7S5JJNLLWSV77DX5VOAZ6ENDAOUEMNIXSZM6LWEGBNEHSRA7N25",
  seed: "SUANYOAZT6KFUERDMQXD5WA7AXULXQ46FLZVZ43A7WRNZM7ZUFXNFTZGWA",
};
const CERTIFICATE = new URL("../fixtures/egress/site.cert.pem", import.meta.url).pathname;
const KEY = new URL("../fixtures/egress/site.key.pem", import.meta.url).pathname;

const program = await engineProgram("bus");

describe.skipIf(program === null)("a NATS that asks for a certificate and a key", () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-nats-logins-"));
  const logins = `authorization { users: [{ nkey: ${USER.public} }] }
    tls { cert_file: "${CERTIFICATE}", key_file: "${KEY}", ca_file: "${CERTIFICATE}", verify: true }`;
  const seed = join(folder, "user.nk");
  let server: Engine;

  beforeAll(async () => {
    writeFileSync(seed, `# of the cluster\n${USER.seed}\n`);
    server = await start({
      ...program!,
      async prepare(data) {
        await program!.prepare!(data);
        appendFileSync(join(data, CONFIGURATION), logins);
      },
    });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const reach = async (query: string): Promise<string> => {
    const link = await linkNats(`tls://127.0.0.1:${server.port}/logins${query}`, { purpose: "test" });
    await link.jsm.getAccountInfo();
    await link.close();
    return "reached";
  };
  const tls = `tls_ca=${CERTIFICATE}&tls_cert=${CERTIFICATE}&tls_key=${KEY}`;

  test("is reached with both", async () => {
    expect(await reach(`?${tls}&nkey=${seed}`)).toBe("reached");
  });

  test.each([
    ["no key of a user", () => `?${tls}`],
    ["no certificate of its own", () => `?tls_ca=${CERTIFICATE}&nkey=${seed}`],
    ["an authority that it does not know", () => `?tls_cert=${CERTIFICATE}&tls_key=${KEY}&nkey=${seed}`],
  ])("is not reached with %s", async (_, query) => {
    await expect(reach(query())).rejects.toThrow(/^Cannot reach NATS at/);
  });
});
