import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { challengeOf } from "../../../../actors/reading/content/challenge.ts";
import { ROWS, type Served, VENDORS } from "../../../../actors/reading/content/challenge-rows.ts";

/**
 * Written for this project after the published signs of each vendor; none is a page that was really served. A name says what is
 * expected: <vendor>[-variant].<challenge | block | ordinary>.http.
 */
const FOLDER = new URL("../../../fixtures/challenge/", import.meta.url);
const FILES = readdirSync(FOLDER);

function served(file: string): Served {
  const [head, ...rest] = readFileSync(new URL(file, FOLDER), "latin1").split("\n\n");
  const [line, ...fields] = head!.split("\n");
  const body = rest.join("\n\n");
  const headers = fields.map((field) => field.split(/: (.*)/s).slice(0, 2) as [string, string]);
  // The length of the main text is not known here; 0 makes it hardest for ordinary pages.
  const status = Number(line!.split(" ")[1]);
  return { status, headers: new Map(headers), body_start: body, bytes: body.length, text_chars: 0 };
}

const expected = (file: string) => {
  const [name, kind] = file.split(".") as [string, "challenge" | "block" | "ordinary"];
  return kind === "ordinary" ? null : { vendor: name.split("-")[0], kind };
};

describe("bot protection", () => {
  test.each(FILES)("%s", (file) => {
    expect(challengeOf(served(file))).toEqual(expected(file));
  });

  test("has for every vendor a challenge page and an ordinary page with its marks", () => {
    for (const vendor of VENDORS) {
      expect(FILES).toContain(`${vendor}.ordinary.http`);
      expect(FILES.some((file) => expected(file)?.vendor === vendor)).toBe(true);
    }
  });

  test("is not seen when its marks are in a large page with status 200", () => {
    for (const file of FILES.filter((name) => !name.includes("header"))) {
      const page = served(file);
      const headers = new Map([["content-type", "text/html"]]);
      const challenge = challengeOf({ ...page, headers, status: 200, bytes: 90_000 });
      // Pages of these vendors are large, and no ordinary page has their marks and no text.
      expect(challenge).toEqual(file.includes("-large.") ? expected(file) : null);
    }
  });

  test("has for every vendor a source that shows its pages", () => {
    for (const [vendor, { sources }] of Object.entries(ROWS))
      expect({ vendor, sources: sources.filter((source) => source.length > 10).length > 0 }).toEqual({
        vendor,
        sources: true,
      });
  });

  test("is not seen when its marks are beside the text of an article", () => {
    for (const file of FILES) {
      const headers = new Map([["content-type", "text/html"]]);
      expect(challengeOf({ ...served(file), headers, status: 200, text_chars: 3_000 })).toBeNull();
    }
  });

  test("is recognised by a header alone, whatever the body", () => {
    const page = { status: 403, body_start: "", bytes: 0, text_chars: 0 };
    const table = [
      [["cf-mitigated", "challenge"], { vendor: "cloudflare", kind: "challenge" }],
      [["x-amzn-waf-action", "captcha"], { vendor: "aws_waf", kind: "challenge" }],
      [["x-vercel-mitigated", "deny"], { vendor: "vercel", kind: "block" }],
      [["x-dd-b", "1"], { vendor: "datadome", kind: "challenge" }],
      [["x-sucuri-block", "EXPLVAL"], { vendor: "sucuri", kind: "block" }],
      [["server", "ddos-guard"], { vendor: "ddos_guard", kind: "challenge" }],
      [["server", "cloudflare"], null],
      [["x-datadome-cid", "x"], null],
    ] as const;
    for (const [header, challenge] of table) {
      expect(challengeOf({ ...page, headers: new Map([header]) })).toEqual(challenge);
    }
  });

  test("costs next to nothing on bodies made to be slow", () => {
    const hostile = [
      "<iframe ",
      "<a class=a",
      "var dd={",
      "<input ",
      "<!--",
      "<script>",
      "&#35;",
      "<title>",
      "<",
    ];
    const slow = hostile.filter((piece) => {
      const body_start = piece.repeat(65_536 / piece.length);
      const began = process.cpuUsage();
      for (const bytes of [20_000, 65_536]) {
        challengeOf({ status: 403, headers: new Map(), body_start, bytes, text_chars: 0 });
      }
      return process.cpuUsage(began).user > 300_000;
    });
    expect(slow).toEqual([]);
  });
});

const PAGES = new URL("../../../../../shared/fixtures/pages/", import.meta.url);

/** Pages that were collected for their text, but for one, which was saved before its check had passed. */
const SAVED_CHALLENGES = ["wcxb/html/0551.html.gz anubis"];

describe.skipIf(!existsSync(PAGES))("gold pages", () => {
  test("are no bot protection", { timeout: 120_000 }, () => {
    const found: string[] = [];
    for (const folder of ["wcxb/html/", "articles/html/", "lang/html/"])
      for (const file of readdirSync(new URL(folder, PAGES))) {
        const body = gunzipSync(readFileSync(new URL(folder + file, PAGES)));
        const body_start = body.toString("latin1", 0, 65_536);
        const headers = new Map([["content-type", "text/html"]]);
        // Without a main text, which is the hardest for ordinary pages.
        const page = { status: 200, headers, body_start, bytes: body.length, text_chars: 0 };
        const challenge = challengeOf(page);
        if (challenge) found.push(`${folder}${file} ${challenge.vendor}`);
      }
    expect(found).toEqual(SAVED_CHALLENGES);
  });
});
