/** Digests of imported records: every form that writers use is compared, and what cannot be read says nothing. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { isContradicted } from "../../../../../actors/crawl/archive/import/record-digests.ts";

const CONTENT = Buffer.from("hello world");
const hex = (algorithm: string): string => createHash(algorithm).update(CONTENT).digest("hex");

/** Base32 by Python's `base64.b32encode(hashlib.sha1(b"hello world").digest())` and its like. */
test.each([
  ["sha1:FKXGYNOJJ7H3IFO35FPUBC445EPOQRXN", "SHA-1 in Base32"],
  ["sha1:fkxgynojj7h3ifo35fpubc445epoqrxn", "in lower case"],
  [`sha1:${hex("sha1")}`, "SHA-1 in hexadecimal"],
  ["sha256:XFGSPOMTJU7ARJJOKLL5U7NL7LCIJ37DPJJYB3UQRD32ZYXPZXUQ====", "SHA-256 in Base32, filled up"],
  [`SHA-256:${hex("sha256").toUpperCase()}`, "SHA-256 in hexadecimal, other letters"],
  [`sha512:${hex("sha512")}`, "SHA-512"],
  [`md5:${hex("md5")}`, "MD5"],
])("%s is compared: %s", (label) => {
  expect(isContradicted(label, [CONTENT])).toBe(false);
  expect(isContradicted(label, [Buffer.from("other"), CONTENT])).toBe(false);
  expect(isContradicted(label, [Buffer.from("other")])).toBe(true);
});

test.each([
  null,
  "",
  "sha1:",
  "sha1:TOOSHORT",
  "blake3:00ff",
  "sha1:????????????????????????????????",
  "none",
])("%s says nothing", (label) => {
  expect(isContradicted(label, [Buffer.from("other")])).toBe(false);
});
