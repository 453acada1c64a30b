/**
 * The anonymous signature of a WACZ file (wacz-auth 0.1.0): ECDSA on P-384 over the text of the digest, the raw form r‖s. The key is
 * derived from the service's key of secrets, so that every node signs with the same one and nothing more is stored.
 */
import { createECDH, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { AUTH_VERSION, type WaczSigner } from "./signer.ts";

const PURPOSE = "wacz signature";
/** The order of P-384 (FIPS 186-5, appendix A.2). */
const ORDER = BigInt(
  "0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
);
const KEY_BYTES = 48;

export const anonymousSigner = (secrets: Pick<Secrets, "sign">): WaczSigner => ({
  form: "anonymous",
  createdMs: (date_ms) => date_ms,
  async sign(signed) {
    const key = signingKey(secrets);
    const signature = sign("sha256", Buffer.from(signed.hash), { key, dsaEncoding: "ieee-p1363" });
    const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
    const data = {
      ...signed,
      version: AUTH_VERSION,
      signature: signature.toString("base64"),
      publicKey: publicKey.toString("base64"),
    };
    return { kind: "signed", data };
  },
});

/** 64 bytes of two signatures, reduced: 128 bits more than the order has (FIPS 186-5, appendix A.2.1). */
function signingKey({ sign: mac }: Pick<Secrets, "sign">): KeyObject {
  const seed = Buffer.concat(["1", "2"].map((part) => Buffer.from(mac(PURPOSE, part), "base64url")));
  const scalar = (BigInt(`0x${seed.toString("hex")}`) % (ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(2 * KEY_BYTES, "0"), "hex");
  const curve = createECDH("secp384r1");
  curve.setPrivateKey(d);
  const point = curve.getPublicKey();
  const coordinate = (from: number): string => point.subarray(from, from + KEY_BYTES).toString("base64url");
  return createPrivateKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: "P-384",
      d: d.toString("base64url"),
      x: coordinate(1),
      y: coordinate(1 + KEY_BYTES),
    },
  });
}
