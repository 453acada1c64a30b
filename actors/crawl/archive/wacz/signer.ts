/** Signers of WACZ files, and the two forms of a signature (wacz-auth 0.1.0, "WACZ Signing and Verification"). */

export const AUTH_VERSION = "0.1.0" as const;

/** Texts; `signature` is base64. */
interface SignedHead {
  /** Digest of datapackage.json, as `sha256:` and hexadecimal digits: the text that is signed. */
  readonly hash: string;
  /** ISO 8601, equal to that of the datapackage. */
  readonly created: string;
  readonly software: string;
  readonly version: typeof AUTH_VERSION;
  readonly signature: string;
}

export interface AnonymousSignature extends SignedHead {
  readonly publicKey: string;
}

export interface DomainSignature extends SignedHead {
  readonly domain: string;
  /** PEM, the certificate of the key first. */
  readonly domainCert: string;
  /** Base64: the response of the time stamp authority (RFC 3161) for the text of `signature`. */
  readonly timeSignature: string;
  /** PEM, the certificate of the authority first. */
  readonly timestampCert: string;
}

export const SIGNING_PROBLEMS = [
  "signing_certificate_unusable",
  /** No connection, or no HTTP. */
  "time_stamp_unreachable",
  "time_stamp_timeout",
  /** Another HTTP status than 200, or a status that grants nothing. */
  "time_stamp_refused",
  /** A time stamp of another request, of another time, with a wrong signature, or none at all. */
  "time_stamp_invalid",
] as const;
export type SigningProblem = (typeof SIGNING_PROBLEMS)[number];

export interface Unsigned {
  readonly kind: "unsigned";
  readonly reason: SigningProblem;
  /** For the log: it may name files of the operator. */
  readonly detail: string;
}

export type SignResult =
  | { readonly kind: "signed"; readonly data: AnonymousSignature | DomainSignature }
  | Unsigned;

export interface WaczSigner {
  readonly form: "anonymous" | "domain";
  /** Creation time that a file names, of an archive whose job or fetch has ended at `date_ms`. Milliseconds. */
  readonly createdMs: (date_ms: number) => number;
  readonly sign: (signed: Pick<SignedHead, "hash" | "created" | "software">) => Promise<SignResult>;
}

export const unsigned = (reason: SigningProblem, detail: string): Unsigned => ({
  kind: "unsigned",
  reason,
  detail,
});
