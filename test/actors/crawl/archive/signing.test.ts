/** Signatures of WACZ files: what a certificate, a key and a time stamp must be, and which reason a wrong one gets. */
import { createPublicKey, verify } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveFiles } from "../../../../actors/crawl/archive/feature/archive-files.ts";
import { signingProblem } from "../../../../actors/crawl/archive/feature/settings.ts";
import { anonymousSigner } from "../../../../actors/crawl/archive/wacz/anonymous-signer.ts";
import { readIdentity } from "../../../../actors/crawl/archive/wacz/domain-identity.ts";
import { domainSigner } from "../../../../actors/crawl/archive/wacz/domain-signer.ts";
import {
  type AnonymousSignature,
  type DomainSignature,
  type SignResult,
  unsigned,
  type WaczSigner,
} from "../../../../actors/crawl/archive/wacz/signer.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import { undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import { messageOf } from "../../../../ops/commands/ends.ts";
import { freePort } from "../../../harness/free-port.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";
import {
  certify,
  DOMAIN,
  has_openssl,
  joinFiles,
  makeDomain,
  makeKey,
  openssl,
  temporaryFolder,
  type TimeStampAuthority,
  timeStampAuthority,
} from "../../../harness/time-stamp-authority.ts";

const HASH = `sha256:${"5".repeat(64)}`;
const SIGNED = { hash: HASH, created: "2026-11-27T04:00:00Z", software: "Trawl" };
const folder = temporaryFolder();
afterAll(folder.remove);
const path = (name: string): string => join(folder.path, name);
const textOf = (name: string): string => readFileSync(path(name), "utf8");

test("anonymous signatures are ECDSA on P-384 in the raw form, by the same key on every node", async () => {
  const [one, two] = await Promise.all(
    [1, 2].map(async () => {
      const result = await anonymousSigner(SAME_SECRETS).sign(SIGNED);
      return (result as Extract<SignResult, { kind: "signed" }>).data as AnonymousSignature;
    }),
  );
  expect(one).toMatchObject({ ...SIGNED, version: "0.1.0", publicKey: two!.publicKey });
  const key = createPublicKey({ key: Buffer.from(one!.publicKey, "base64"), type: "spki", format: "der" });
  expect(key.asymmetricKeyDetails).toEqual({ namedCurve: "secp384r1" });
  const signature = Buffer.from(one!.signature, "base64");
  expect(verify("sha256", Buffer.from(HASH), { key, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
});

test("a file that names a domain stays as it is; an anonymous one is signed anew once there is a certificate", async () => {
  const blobs = memoryBlobs();
  const documents = memoryDocuments();
  const clock = virtualClock();
  const { log } = silentTelemetry();
  const anonymous = anonymousSigner(SAME_SECRETS);
  const signFor = (domain: string): WaczSigner => ({
    ...anonymous,
    form: "domain",
    sign: async (signed) => ({
      kind: "signed",
      data: {
        ...signed,
        version: "0.1.0",
        signature: "",
        domain,
        domainCert: "",
        timeSignature: "",
        timestampCert: "",
      },
    }),
  });
  const failing: WaczSigner = {
    ...signFor("a.example"),
    sign: async () => unsigned("time_stamp_timeout", "15 s"),
  };
  const source = { id: "job", title: "Job", date_ms: 0, software: "Trawl", async *pages() {} };
  const head = { method: "GET", path: "/", query: "", headers: new Map(), address: () => "" };
  const download = (signer: WaczSigner) =>
    archiveFiles({ blobs, documents, clock, log, signer }).answerWacz("project", source, head);
  const tagOf = async (signer: WaczSigner) => (await download(signer)).headers?.["ETag"];

  const first = await tagOf(anonymous);
  expect(await tagOf(anonymous)).toBe(first);
  expect((await download(failing)).status).toBe(503);
  expect(await tagOf(anonymous)).toBe(first);
  const second = await tagOf(signFor("a.example"));
  expect(second).not.toBe(first);
  for (const signer of [signFor("b.example"), failing, anonymous]) expect(await tagOf(signer)).toBe(second);
});

test("the three settings of a certificate are given together", () => {
  const all = { cert: "chain.pem", key: "domain.key", timestamp_url: "http://time.test/" };
  expect(signingProblem({ wacz: {} })).toBeNull();
  expect(signingProblem({ wacz: all })).toBeNull();
  for (const [name, env] of [
    ["cert", "TRAWL_WACZ_CERT"],
    ["key", "TRAWL_WACZ_KEY"],
    ["timestamp_url", "TRAWL_WACZ_TIMESTAMP_URL"],
  ] as const)
    expect(signingProblem({ wacz: { ...all, [name]: undefined } })).toMatchObject({ env });
});

describe.skipIf(!has_openssl)("a certificate (needs openssl)", () => {
  let authority: TimeStampAuthority;
  let clock = virtualClock();
  beforeAll(async () => {
    await makeDomain(folder.path);
    authority = await timeStampAuthority(folder.path);
    await makeKey(folder.path, "other");
    await makeKey(folder.path, "rsa", "rsa");
    await certify(folder.path, "rsa", { subject: `/CN=${DOMAIN}`, issuer: "middle", extensions: [] });
    await certify(folder.path, "other", { subject: "/CN=The archive", issuer: "middle", extensions: [] });
    clock = virtualClock(Date.now());
    joinFiles(folder.path, "turned.pem", "middle.pem", "domain.pem");
    joinFiles(folder.path, "gap.pem", "domain.pem", "root.pem");
    await openssl(folder.path, ..."pkcs8 -topk8 -in domain.key -passout pass:x -out locked.key".split(" "));
  });
  afterAll(() => authority.close());

  const settings = () => ({ cert: path("chain.pem"), key: path("domain.key"), timestamp_url: authority.url });
  // Whole seconds, as openssl has them.
  const signed = () => ({ ...SIGNED, created: `${new Date(clock.now()).toISOString().slice(0, 19)}Z` });

  async function withEgress<T>(work: (egress: Egress) => Promise<T>, url = authority.url): Promise<T> {
    const egress = undiciEgress({ judge: onlyTo(new URL(url)) });
    try {
      return await work(egress);
    } finally {
      await egress.close();
    }
  }

  const DAY_MS = 86_400_000;
  const read = (cert: string, key: string, now_ms = Date.now()) =>
    readIdentity({ cert: textOf(cert), key: textOf(key) }, now_ms);

  test("is used with a chain up to its root, whose keys may be RSA, and without one", () => {
    expect(read("chain.pem", "domain.key")).toMatchObject({
      kind: "usable",
      domain: DOMAIN,
      chain: textOf("chain.pem"),
    });
    expect(read("domain.pem", "domain.key")).toMatchObject({ kind: "usable", domain: DOMAIN });
  });

  test.each([
    ["of another key", "chain.pem", "other.key", 0, "key", "not the key"],
    ["with a key behind a passphrase", "chain.pem", "locked.key", 0, "key", "without a passphrase"],
    ["with a file that has no key", "chain.pem", "chain.pem", 0, "key", "no private key"],
    ["with an RSA key", "chain.pem", "rsa.key", 0, "key", "type rsa"],
    ["of an RSA key", "rsa.pem", "rsa.key", 0, "cert", "type rsa"],
    ["that stands behind its issuer", "turned.pem", "domain.key", 0, "cert", "wrong order"],
    ["without the issuer between", "gap.pem", "domain.key", 0, "cert", "incomplete"],
    ["that is over", "chain.pem", "domain.key", 6 * DAY_MS, "cert", "is over"],
    ["that is not valid yet", "chain.pem", "domain.key", -DAY_MS, "cert", "not valid yet"],
    ["of no domain", "other.pem", "other.key", 0, "cert", "no domain"],
    ["that is none", "domain.key", "domain.key", 0, "cert", "no certificate"],
  ])("%s is refused", (_, cert, key, later_ms, setting, message) => {
    const result = read(cert, key, Date.now() + later_ms);
    expect(result).toMatchObject({ kind: "unusable", in: setting });
    expect(result).toHaveProperty("message", expect.stringContaining(message));
  });

  test("that cannot be used ends the start with a sentence that begins with its setting", async () => {
    const problemOf = (wrong: { readonly cert?: string; readonly key?: string }) =>
      withEgress((egress) =>
        domainSigner({ ...settings(), ...wrong }, { egress, clock }).then(() => null, messageOf),
      );
    expect(await problemOf({ key: path("other.key") })).toBe(
      "TRAWL_WACZ_KEY is not the key of the first certificate in TRAWL_WACZ_CERT",
    );
    expect(await problemOf({ cert: path("missing") })).toMatch(/^TRAWL_WACZ_CERT cannot be read: .+ENOENT/);
    expect(await problemOf({})).toBeNull();
  });

  test("signs with the time of the authority, as openssl verifies it", async () => {
    const result = await withEgress(async (egress) =>
      (await domainSigner(settings(), { egress, clock })).sign(signed()),
    );
    const { data } = result as Extract<SignResult, { kind: "signed" }>;
    const { signature, timeSignature, domainCert, timestampCert, domain } = data as DomainSignature;
    expect(data).not.toHaveProperty("publicKey");
    expect([domain, domainCert]).toEqual([DOMAIN, textOf("chain.pem")]);
    expect(timestampCert).toBe(textOf("stamps.pem") + textOf("stamps-root.pem"));
    writeFileSync(path("hash"), HASH);
    writeFileSync(path("hash.sig"), Buffer.from(signature, "base64"));
    const { stdout: spki } = await openssl(folder.path, ..."x509 -in chain.pem -pubkey -noout".split(" "));
    writeFileSync(path("domain.pub"), spki);
    await openssl(folder.path, ..."dgst -sha256 -verify domain.pub -signature hash.sig hash".split(" "));
    writeFileSync(path("signature"), signature);
    writeFileSync(path("stamp.tsr"), Buffer.from(timeSignature, "base64"));
    const words = "ts -verify -in stamp.tsr -data signature -CAfile stamps-root.pem";
    await openssl(folder.path, ...words.split(" "));
  });

  test.each([
    ["fail", "time_stamp_refused", "HTTP 500"],
    ["refuse", "time_stamp_refused", "status 2"],
    ["repeat", "time_stamp_invalid", "it answers another request"],
    ["forge", "time_stamp_invalid", "its signature is wrong"],
    ["endless", "time_stamp_invalid", "more than 65536 bytes"],
  ] as const)("has no signature where the authority does this: %s", async (behaviour, reason, detail) => {
    await withEgress(async (egress) => {
      const signer = await domainSigner(settings(), { egress, clock });
      await signer.sign(signed());
      authority.behave(behaviour);
      expect(await signer.sign(signed())).toMatchObject({ kind: "unsigned", reason, detail });
      authority.behave("stamp");
      expect(await signer.sign(signed())).toMatchObject({ kind: "signed" });
    });
  });

  test("has no signature where the authority says nothing for 15 s", async () => {
    await withEgress(async (egress) => {
      const time = virtualClock(clock.now());
      const signer = await domainSigner(settings(), { egress, clock: time });
      const before = authority.requests();
      authority.behave("silent");
      const result = signer.sign(signed());
      await expect.poll(() => authority.requests(), { timeout: 30_000 }).toBe(before + 1);
      await time.advance(15_000);
      authority.behave("stamp");
      expect(await result).toMatchObject({ kind: "unsigned", reason: "time_stamp_timeout" });
    });
  });

  test("has no signature where the authority is not there, its clock differs, or the certificate is over", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}/`;
    await withEgress(async (egress) => {
      const signer = await domainSigner({ ...settings(), timestamp_url: nowhere }, { egress, clock });
      expect(await signer.sign(signed())).toMatchObject({ reason: "time_stamp_unreachable" });
    }, nowhere);
    await withEgress(async (egress) => {
      const time = virtualClock(clock.now());
      const signer = await domainSigner(settings(), { egress, clock: time });
      for (const hours of [1, -1]) {
        const created = new Date(clock.now() + hours * 3_600_000).toISOString();
        expect(await signer.sign({ ...SIGNED, created })).toMatchObject({ reason: "time_stamp_invalid" });
      }
      await time.advance(6 * DAY_MS);
      const over = await signer.sign(signed());
      expect(over).toMatchObject({
        reason: "signing_certificate_unusable",
        detail: expect.stringContaining("TRAWL_WACZ_CERT is over"),
      });
    });
  });
});
