/** Digests of records as archives name them (WARC 1.1 §5.8 and §5.9): `algorithm:value`, in Base32 (RFC 4648) or hexadecimal. Pure. */
import { createHash } from "node:crypto";

const BYTES: ReadonlyMap<string, number> = new Map([
  ["md5", 16],
  ["sha1", 20],
  ["sha256", 32],
  ["sha512", 64],
]);
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** True: the digest is one that can be read, and none of the contents has it. */
export function isContradicted(label: string | null, contents: readonly Buffer[]): boolean {
  const [, name = "", value = ""] = /^([a-z0-9-]{1,16}):(\S{1,200})$/i.exec(label?.trim() ?? "") ?? [];
  const algorithm = name.toLowerCase().replace("-", "");
  const bytes = BYTES.get(algorithm);
  const named = bytes === undefined ? null : hexOf(value, bytes);
  return (
    named !== null && !contents.some((each) => createHash(algorithm).update(each).digest("hex") === named)
  );
}

function hexOf(value: string, bytes: number): string | null {
  if (value.length === bytes * 2 && /^[0-9a-f]+$/i.test(value)) return value.toLowerCase();
  const characters = value.toUpperCase().replace(/={1,6}$/, "");
  if (characters.length !== Math.ceil((bytes * 8) / 5) || !/^[A-Z2-7]+$/.test(characters)) return null;
  let number = 0n;
  for (const character of characters) number = number * 32n + BigInt(BASE32.indexOf(character));
  return (number >> BigInt(characters.length * 5 - bytes * 8)).toString(16).padStart(bytes * 2, "0");
}
