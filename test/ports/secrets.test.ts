/** Secrets: what is sealed opens at its place with its key and nowhere else, and what is signed holds for one purpose. */
import { describe, expect, test } from "vitest";
import { newSecretKey, secretKey } from "../../cluster/adapters/secrets/secrets.aes.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { type SecretPlace, shownAddress } from "../../cluster/ports/secrets.ts";
import { secretsOf } from "../harness/secrets.ts";

const PLACE: SecretPlace = { collection: "alert_hooks", key: "acme 000000001", field: "url" };
const TEXT = "https://user:pä55@client.example/hook?token=t";
const [OLD, NEW] = [newSecretKey(), newSecretKey()];

function faultOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (problem) {
    return problem instanceof Fault ? problem.code : problem;
  }
}

describe("sealed texts", () => {
  const secrets = secretsOf(OLD);

  test.each([TEXT, "", "x".repeat(100_000), "sealed:1:00000000:AAAA"])("open to what was sealed", (text) => {
    const sealed = secrets.seal(text, PLACE);
    expect(sealed).toMatch(new RegExp(`^sealed:1:${OLD.id}:[A-Za-z0-9_-]+$`));
    expect(secrets.open(sealed, PLACE)).toBe(text);
  });

  test("show nothing of the text and differ each time", () => {
    const [one, two] = [secrets.seal(TEXT, PLACE), secrets.seal(TEXT, PLACE)];
    expect(one).not.toBe(two);
    expect(Buffer.from(one.split(":")[3]!, "base64url").includes("client")).toBe(false);
  });

  test.each([
    ["collection", { ...PLACE, collection: "company_watches" }],
    ["key", { ...PLACE, key: "acme 000000002" }],
    ["field", { ...PLACE, field: "secret" }],
    ["split", { collection: "alert_hooks", key: "acme", field: "000000001 url" }],
  ])("of another %s do not open", (_, place) => {
    expect(faultOf(() => secrets.open(secrets.seal(TEXT, PLACE), place))).toBe("secret_unreadable");
  });

  test("with any character changed, or cut at any length, are a fault and never another text", () => {
    const sealed = secrets.seal("abc", PLACE);
    const from = sealed.lastIndexOf(":") + 1;
    for (let at = from; at < sealed.length; at++) {
      const bytes = Buffer.from(sealed.slice(from), "base64url");
      bytes[Math.min(at - from, bytes.length - 1)]! ^= 1;
      const changed = sealed.slice(0, from) + bytes.toString("base64url");
      expect(faultOf(() => secrets.open(changed, PLACE))).toBe("secret_unreadable");
      expect(faultOf(() => secrets.open(sealed.slice(0, at), PLACE))).toBe("secret_unreadable");
    }
  });

  test("of a later version of the program are a fault", () => {
    const later = secrets.seal(TEXT, PLACE).replace("sealed:1:", "sealed:2:");
    expect(faultOf(() => secrets.open(later, PLACE))).toBe("secret_unreadable");
  });

  test("in clear, of an older version, are returned as they are", () => {
    expect(secrets.open(TEXT, PLACE)).toBe(TEXT);
  });
});

describe("a change of the key", () => {
  const before = secretsOf(OLD);
  const between = secretsOf(NEW, OLD);
  const after = secretsOf(NEW);

  test("reads with both keys, seals with the new one, and leaves what has it", () => {
    const sealed = before.seal(TEXT, PLACE);
    expect(between.open(sealed, PLACE)).toBe(TEXT);
    const resealed = between.reseal(sealed, PLACE);
    expect(between.reseal(resealed, PLACE)).toBe(resealed);
    expect(after.open(resealed, PLACE)).toBe(TEXT);
    expect(after.open(between.reseal(TEXT, PLACE), PLACE)).toBe(TEXT);
    expect(faultOf(() => after.open(sealed, PLACE))).toBe("secret_unreadable");
  });

  test("of one with the same id and other bytes opens nothing", () => {
    const twin = { ...secretKey(Buffer.alloc(32, 1)), id: OLD.id };
    expect(faultOf(() => secretsOf(twin).open(before.seal(TEXT, PLACE), PLACE))).toBe("secret_unreadable");
  });
});

describe("signatures", () => {
  const secrets = secretsOf(OLD);
  const signature = secrets.sign("debug link", "name 1");

  test("hold for the same purpose and text, with the former key as well", () => {
    expect(signature).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(secrets.isSigned("debug link", "name 1", signature)).toBe(true);
    expect(secretsOf(NEW, OLD).isSigned("debug link", "name 1", signature)).toBe(true);
  });

  test("hold for nothing else", () => {
    expect(secrets.isSigned("debug link", "name 2", signature)).toBe(false);
    expect(secrets.isSigned("other", "name 1", signature)).toBe(false);
    expect(secretsOf(NEW).isSigned("debug link", "name 1", signature)).toBe(false);
    for (const wrong of ["", "x", signature.slice(1), `${signature}=`, signature.toLowerCase()])
      expect(secrets.isSigned("debug link", "name 1", wrong)).toBe(false);
  });
});

test("a stored address is shown masked, and as null where it cannot be read", () => {
  const sealed = secretsOf(OLD).seal(TEXT, PLACE);
  expect(shownAddress(secretsOf(OLD), sealed, PLACE)).toBe("https://***@client.example/hook?token=***");
  expect(shownAddress(secretsOf(NEW), sealed, PLACE)).toBeNull();
});
