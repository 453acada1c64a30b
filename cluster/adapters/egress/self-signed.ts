/** A key pair of this process and a certificate for it, whose name says nothing: it is recognised by its key (X.509 v3, RFC 5280). */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface SelfSigned {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** SHA-256 of the public key (SubjectPublicKeyInfo), in base64. */
  readonly spki_sha256: string;
}

const DAY_MS = 86_400_000;
const VALID_MS = 3_650 * DAY_MS;

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const SEQUENCE = 0x30;
/** ecdsa-with-SHA256 (1.2.840.10045.4.3.2). */
const ALGORITHM = der(SEQUENCE, Buffer.from("06082a8648ce3d040302", "hex"));
const COMMON_NAME = Buffer.from("0603550403", "hex");
const NAME = der(SEQUENCE, der(0x31, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from("trawl egress")))));
/** UTCTime, as it is used until 2049. */
const time = (at_ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at_ms).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`));

export function selfSigned(now_ms: number): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const signed = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(12)])),
    ALGORITHM,
    NAME,
    der(SEQUENCE, time(now_ms - DAY_MS), time(now_ms + VALID_MS)),
    NAME,
    spki,
  );
  const certificate = der(
    SEQUENCE,
    signed,
    ALGORITHM,
    der(0x03, Buffer.from([0]), sign("sha256", signed, privateKey)),
  );
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`,
    spki_sha256: createHash("sha256").update(spki).digest("base64"),
  };
}
