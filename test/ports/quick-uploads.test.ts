/** Uploads past the SDK, to a server that computes each signature from what arrived (AWS Signature Version 4). */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { buffer } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { s3Blobs } from "../../cluster/adapters/blobs/blobs.s3.ts";
import { sha256Of } from "../../cluster/ports/blobs.ts";

const SECRET = "a-secret-of-the-tests";
const sha256 = (data: Buffer | string): string => createHash("sha256").update(data).digest("hex");
const hmac = (key: Buffer | string, data: string): Buffer => createHmac("sha256", key).update(data).digest();

function isSigned(request: IncomingMessage, content: Buffer): boolean {
  const [, credential, names, signature] =
    /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(
      request.headers.authorization ?? "",
    ) ?? [];
  if (!credential || request.headers["x-amz-content-sha256"] !== sha256(content)) return false;
  const { pathname, searchParams } = new URL(request.url!, "http://any");
  const query = [...searchParams].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).toSorted();
  const signed = names!.split(";");
  const headers = signed.map((name) => `${name}:${String(request.headers[name]).trim()}\n`).join("");
  const canonical = [request.method, pathname, query.join("&"), headers, names, sha256(content)].join("\n");
  const key = credential
    .split("/")
    .reduce((last: Buffer | string, part) => hmac(last, part), `AWS4${SECRET}`);
  const text = ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], credential, sha256(canonical)].join("\n");
  return signed.includes("host") && hmac(key, text).toString("hex") === signature;
}

interface Upload {
  readonly path: string;
  readonly content: Buffer;
  readonly headers: IncomingMessage["headers"];
  readonly status: number;
}

const isOfSdk = ({ headers }: Pick<Upload, "headers">): boolean => "amz-sdk-invocation-id" in headers;

/** `refuses`: what is not stored in spite of its signature. */
async function checkingServer(refuses: (upload: Omit<Upload, "status">) => boolean = () => false) {
  const uploads: Upload[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((content) => {
      const upload = { path: request.url!, content, headers: request.headers };
      const status = !isSigned(request, content) || refuses(upload) ? 403 : 200;
      uploads.push({ ...upload, status });
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return { uploads, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function storeAt(endpoint: string, { prefix = "bodies", secret = SECRET, token = "" } = {}) {
  const store = s3Blobs({
    bucket: "bucket",
    prefix,
    endpoint,
    region: "eu-west-3",
    credentials: {
      accessKeyId: "tests",
      secretAccessKey: secret,
      ...(token !== "" && { sessionToken: token }),
    },
    spool: tmpdir(),
  });
  afterAll(() => store.close());
  return store;
}

const paged = (text: string): Buffer => Buffer.from(`<p>${text}</p>`.repeat(300));

describe("uploads past the SDK", () => {
  test.each(["bodies", "", "of a/crawl's (all)/ü+1"])(
    "are signed as the server computes it, and store what the SDK would: prefix %j",
    async (prefix) => {
      const { uploads, endpoint } = await checkingServer();
      const store = storeAt(endpoint, { prefix, token: "a/session+token=" });
      const content = paged("again");
      for (let time = 0; time < 2; time++) await store.put(content);
      await store.put(randomBytes(3_000));
      expect(uploads.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(uploads.map(isOfSdk)).toEqual([true, false, false]);
      const [bySdk, quick, plain] = uploads;
      expect(quick!.path).toBe(bySdk!.path.replace(/\?x-id=PutObject$/, ""));
      expect(quick!.content.equals(bySdk!.content)).toBe(true);
      for (const name of ["content-type", "x-amz-checksum-sha256", "x-amz-meta-coding", "x-amz-meta-bytes"])
        expect(quick!.headers[name]).toBe(bySdk!.headers[name]);
      expect(quick!.headers["x-amz-security-token"]).toBe("a/session+token=");
      expect(plain!.headers["x-amz-meta-coding"]).toBe("none");
      expect(decodeURIComponent(quick!.path)).toContain(sha256Of(content));
    },
  );

  test("are the SDK's again where they are refused, and for a while after", async () => {
    const { uploads, endpoint } = await checkingServer((upload) => !isOfSdk(upload));
    const store = storeAt(endpoint);
    for (const text of ["one", "two", "three"]) await store.put(paged(text));
    expect(uploads.map(isOfSdk)).toEqual([true, false, true, true]);
    expect(uploads.map(({ status }) => status)).toEqual([200, 403, 200, 200]);
  });

  test("are no way around a server that refuses the account", async () => {
    const { uploads, endpoint } = await checkingServer();
    const store = storeAt(endpoint, { secret: "another" });
    for (const text of ["one", "two"])
      await expect(store.put(paged(text))).rejects.toMatchObject({
        code: "bodies_unreachable",
        message: expect.stringContaining("it answered 403"),
      });
    expect(uploads.every(({ status }) => status === 403)).toBe(true);
  });
});
