/** Masking of addresses and values that are shown. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSecretName, maskAddresses, maskValue } from "../../../cluster/ports/mask.ts";

describe("an address", () => {
  test.each([
    ["https://u:p@h.example/a", "https://***@h.example/a"],
    ["https://token@h.example/a", "https://***@h.example/a"],
    ["https://u:p%40q@h.example", "https://***@h.example"],
    ["https://u:p@q@h.example/", "https://***@h.example/"],
    ["https://h.example/a?token=t&page=2", "https://h.example/a?token=***&page=2"],
    ["https://h.example/a?page=2&access_token=t#x", "https://h.example/a?page=2&access_token=***#x"],
    [
      "https://h.example/?X-Amz-Signature=ab&X-Amz-Date=1",
      "https://h.example/?X-Amz-Signature=***&X-Amz-Date=1",
    ],
    [
      "https://h.example/?apiKey=1&api-key=2&API_KEY=3",
      "https://h.example/?apiKey=***&api-key=***&API_KEY=***",
    ],
    ["https://h.example/?a%70i_key=1", "https://h.example/?a%70i_key=***"],
    ["https://h.example/?client[secret]=1", "https://h.example/?client[secret]=***"],
    ["https://h.example/?monkey=1&design=2&keyboard=3", "https://h.example/?monkey=1&design=2&keyboard=3"],
    ["https://h.example/@name/post", "https://h.example/@name/post"],
    ["https://h.example/?mail=a@b.example", "https://h.example/?mail=a@b.example"],
    ["no address, a = b@c", "no address, a = b@c"],
    ["http://u:it's@h.example/", "http://***@h.example/"],
    ["at http://u:p@h.example/ and ftp://v@i.example", "at http://***@h.example/ and ftp://***@i.example"],
  ])("%s is shown as %s", (address, shown) => {
    expect(maskAddresses(address)).toBe(shown);
    expect(maskAddresses(shown)).toBe(shown);
  });

  test("never shows a password or a query secret, whatever characters it has", () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 30, unit: "binary" })
      .map((text) => `S${encodeURIComponent(text)}S`);
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom("token", "sig", "api_key", "X-Auth-Token", "password"),
        (value, name) => {
          const url = new URL(`https://user:${value}@h.example/path?page=1&${name}=${value}`);
          expect(maskAddresses(url.href)).not.toContain(value);
        },
      ),
    );
  });
});

test.each(["Authorization", "X-Api-Key", "cookies", "setCookie", "webhook_secret", "sid"])(
  "the field %s is masked whole",
  (name) => {
    expect(isSecretName(name)).toBe(true);
    expect(maskValue({ headers: { [name]: ["a"], Accept: "b" } })).toEqual({
      headers: { [name]: "***", Accept: "b" },
    });
  },
);

test("values are masked at any depth, and what is too deep is left out", () => {
  expect(maskValue([{ url: "http://u:p@h/" }, 1, null, true])).toEqual([
    { url: "http://***@h/" },
    1,
    null,
    true,
  ]);
  let deep: unknown = "http://u:p@h/";
  for (let n = 0; n < 100; n++) deep = [deep];
  expect(JSON.stringify(maskValue(deep))).not.toContain("u:p");
});
