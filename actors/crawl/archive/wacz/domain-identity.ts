/**
 * The certificate chain and the key that sign WACZ files for a domain, out of their files: what verifiers of such signatures accept, and
 * what is wrong otherwise. Whether a root is trusted is the verifier's question.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

export interface DomainIdentity {
  readonly domain: string;
  /** PEM: each certificate with that of its issuer behind it. */
  readonly chain: string;
  readonly key: KeyObject;
}

/** A problem of the file with the certificates, or of that with the key. */
interface IdentityProblem {
  readonly in: "cert" | "key";
  /** Continues a sentence that begins with the name of the setting. */
  readonly message: string;
}

type IdentityResult =
  | ({ readonly kind: "usable" } & DomainIdentity)
  | ({ readonly kind: "unusable" } & IdentityProblem);

const MAX_CERTIFICATES = 10;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/i;
const ORDER = "the certificate of the key comes first, behind each one that of its issuer";

const unusable = (of: "cert" | "key", message: string): IdentityResult => ({
  kind: "unusable",
  in: of,
  message,
});

/** `cert` and `key`: the contents of the files. */
export function readIdentity(
  { cert, key }: { readonly cert: string; readonly key: string },
  now_ms: number,
): IdentityResult {
  const chain = certificatesIn(cert);
  if (typeof chain === "string") return unusable("cert", chain);
  const leaf = chain[0]!;
  const wrong = problemOfChain(chain, now_ms);
  if (wrong !== null) return unusable("cert", wrong);
  const domain = domainOf(leaf);
  if (domain === null)
    return unusable("cert", "has a first certificate whose name is no domain: it is what signatures name");
  const private_key = privateKeyIn(key);
  if (typeof private_key === "string") return unusable("key", private_key);
  if (!leaf.checkPrivateKey(private_key))
    return unusable("key", "is not the key of the first certificate in TRAWL_WACZ_CERT");
  return { kind: "usable", domain, chain: chain.map(String).join(""), key: private_key };
}

/** A text says what is wrong. */
function certificatesIn(pem: string): readonly X509Certificate[] | string {
  const texts = pem.match(CERTIFICATE) ?? [];
  if (texts.length === 0) return "has no certificate in PEM form";
  if (texts.length > MAX_CERTIFICATES) return `has more than ${MAX_CERTIFICATES} certificates`;
  try {
    return texts.map((text) => new X509Certificate(text));
  } catch {
    return "has a certificate that cannot be read";
  }
}

function problemOfChain(chain: readonly X509Certificate[], now_ms: number): string | null {
  for (const [at, certificate] of chain.entries()) {
    const { validFrom, validTo } = certificate;
    const place = `certificate ${at + 1}`;
    if (Date.parse(validTo) < now_ms) return `is over: ${place} was valid until ${validTo}`;
    if (Date.parse(validFrom) > now_ms) return `is not valid yet: ${place} is from ${validFrom} on`;
    const issuer = chain[at + 1];
    if (issuer && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)))
      return `is in the wrong order or incomplete: certificate ${at + 2} has not issued ${place}; ${ORDER}`;
  }
  // authsign and wabac.js know no other.
  const { asymmetricKeyType: type } = chain[0]!.publicKey;
  return type === "ec"
    ? null
    : `is of a key of type ${type}: signatures of WACZ files are ECDSA, by an EC key`;
}

function privateKeyIn(pem: string): KeyObject | string {
  try {
    const key = createPrivateKey(pem);
    const { asymmetricKeyType: type } = key;
    return type === "ec" ? key : `is a key of type ${type}: signatures of WACZ files are ECDSA, by an EC key`;
  } catch {
    return "has no private key in PEM form without a passphrase";
  }
}

/** The common name, else the first name of the alternatives: in this order verifiers look for it. Null: it is no domain. */
function domainOf(certificate: X509Certificate): string | null {
  const common: string | readonly string[] | undefined = certificate.toLegacyObject().subject.CN;
  const name = [common].flat()[0] ?? /(?:^|, )DNS:([^,"]+)/.exec(certificate.subjectAltName ?? "")?.[1];
  return name !== undefined && DOMAIN.test(name) ? name : null;
}
