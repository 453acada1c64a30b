/** Which copies are searched for, and when one counts as verified (allow_alternates, match_score). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  candidatesOf,
  type AlternateCause,
  causeOf,
  isThePaper,
  judgeCopy,
  type KnownPage,
  leadOf,
  queryOf,
  showsOthersPages,
  wantedOf,
} from "../../../../actors/crawl/fetch/alternates/alternates.ts";
import type { Extracted } from "../../../../actors/reading/extraction-result.ts";
import {
  addressOf,
  gramsOf,
  isSameTitle,
  share,
  wordsOf,
} from "../../../../actors/reading/content/similarity.ts";
import type { FetchError } from "../../../../schemas/errors.ts";

const WORDS = Array.from({ length: 200 }, (_, n) => `w${n}`);
const text = (from: number, to: number): string => WORDS.slice(from, to).join(" ");
const KNOWN: KnownPage = {
  title: "Ferry makes its last crossing",
  text: text(0, 60),
  canonical_url: "https://news.example/ferry",
  language: "en",
  final_url: "https://www.news.example/a/ferry?utm_source=x",
};
const URL_ASKED = "https://news.example/a/ferry";
const wanted = (
  cause: AlternateCause = "paywall",
  known: KnownPage | null = KNOWN,
  leads?: Extracted["leads"],
) => wantedOf(URL_ASKED, cause, known, leads, 10);
const read = (copy_text: string, more: Partial<Extracted> = {}): Extracted => ({
  charset: "UTF-8",
  title: "Another title",
  text: copy_text,
  text_truncated: false,
  meta: null,
  pdf_pages: null,
  pdf_page_count: null,
  paywall: "none",
  paywall_evidence: [],
  note: null,
  ...more,
});
const copy = (
  copy_text: string,
  final_url = "https://other.example/story",
  more: Partial<Extracted> = {},
) => ({
  final_url,
  kind: "html" as const,
  extracted: read(copy_text, more),
});

describe("a copy is looked for", () => {
  const free = { allow_alternates: true, tiers: null };
  test.each<[string, FetchError | null, boolean, AlternateCause | null]>([
    ["of a teaser", null, true, "paywall"],
    ["not of a page that came whole", null, false, null],
    ["of what robots.txt closes", "robots_disallowed", false, "robots"],
    ["of what is not there", "http_404", false, "gone"],
    ["of what is gone", "http_410", false, "gone"],
    ["of a page that is not there and speaks of subscriptions", "http_404", true, "gone"],
    ["of what every route failed at", "all_tiers_failed", false, "blocked"],
    ["as of sold, where the refusal was a wall", "all_tiers_failed", true, "paywall"],
    ["as of sold, where payment is required", "http_402", true, "paywall"],
    ["not of other refusals", "http_402", false, null],
    ["not of a dead host", "domain_dead", false, null],
    ["not of a busy domain", "domain_busy", false, null],
    ["not of a skipped domain", "domain_unavailable", false, null],
    ["not of a private destination", "blocked_destination", false, null],
    ["not of what is too large", "too_large", false, null],
    ["not when time is up", "timeout", false, null],
  ])("%s", (_, error, sold, cause) => {
    expect(causeOf(free, error, sold)).toBe(cause);
    expect(causeOf({ ...free, allow_alternates: false }, error, sold)).toBeNull();
    expect(causeOf({ ...free, tiers: ["direct"] }, error, sold)).toBeNull();
  });
});

describe("a lead", () => {
  test.each([
    ["39 words say too little", text(0, 39), null],
    ["40 words are enough", text(0, 40), 36],
    ["beyond 60 words nothing counts", text(0, 200), 56],
    ["one phrase over and over says too little", "on and on and on we go ".repeat(20), null],
    ["nothing", "", null],
  ])("%s", (_, from, grams) => {
    expect(leadOf(from)?.size ?? null).toBe(grams);
  });
});

test("a lead begins below the title, where the text repeats it", () => {
  expect(leadOf(`Ferry leaves\n\n${text(0, 60)}`, "Ferry leaves")).toEqual(leadOf(text(0, 60)));
  expect(leadOf(text(0, 60), "Ferry leaves")).toEqual(leadOf(text(0, 60)));
});

describe("the score", () => {
  const phrase = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 45, maxLength: 120 });

  test("of a text against itself is 1, of strangers 0, and lies between for all others", () => {
    fc.assert(
      fc.property(phrase, phrase, (one, other) => {
        const lead = leadOf(one.join(" "));
        if (lead === null) return;
        expect(share(lead, gramsOf(one))).toBe(1);
        expect(share(lead, gramsOf(other.map((word) => `${word}9`)))).toBe(0);
        const score = share(lead, gramsOf(other));
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("never falls when a copy has more text before and after", () => {
    fc.assert(
      fc.property(phrase, phrase, phrase, (one, before, after) => {
        const lead = gramsOf(one.slice(0, 60));
        const half = one.slice(0, 30);
        expect(share(lead, gramsOf([...before, ...half, ...after]))).toBeGreaterThanOrEqual(
          share(lead, gramsOf(half)),
        );
      }),
    );
  });

  test("of two sets of one size is the same both ways", () => {
    fc.assert(
      fc.property(phrase, phrase, (one, other) => {
        const [a, b] = [gramsOf(one), gramsOf(other)];
        expect(Math.round(share(a, b) * a.size)).toBe(Math.round(share(b, a) * b.size));
      }),
    );
  });

  test.each([
    ["case", "The FERRY left its berth", "the ferry left its berth"],
    ["quotation marks", "It’s “the” captain‘s", `it's "the" captain's`],
    ["white space and soft hyphens", "a\u00a0  fer\u00adry\n left", "a ferry left"],
    ["compatibility forms", "ﬁve ﬂags １２", "five flags 12"],
    ["punctuation", "well - said, he; (said)", "well said he said"],
  ])("does not depend on %s", (_, one, other) => {
    expect(wordsOf(one)).toEqual(wordsOf(other));
  });

  test("cuts scripts without spaces into words", () => {
    const words = wordsOf("灯台の光は港を照らし、船は静かに岸へ戻った。");
    expect(words.length).toBeGreaterThan(8);
    expect(words).toContain("灯台");
  });
});

describe("a copy elsewhere", () => {
  // A copy with the first n words of the lead has n - 4 of its 56 grams.
  const sharing = (words: number): string => `${text(0, words)} ${text(100, 200)}`;
  test.each([
    ["with every word", sharing(60), { kind: "verified", score: 1 }],
    ["with half of the lead, 28 of 56", sharing(32), { kind: "verified", score: 0.5 }],
    ["with a little less, 27 of 56", sharing(31), { kind: "rejected", reason: "mismatch" }],
    ["of another story", text(100, 200), { kind: "rejected", reason: "mismatch" }],
  ])("%s", (_, copy_text, verdict) => {
    expect(judgeCopy(wanted(), copy(copy_text), "words", true)).toEqual(verdict);
  });

  test.each([
    ["is sold itself", copy(text(0, 200), undefined, { paywall: "hard" }), "paywall"],
    ["is behind a gate", copy(text(0, 200), undefined, { paywall: "unknown" }), "paywall"],
    ["stands on the same site", copy(text(0, 200), "https://amp.news.example/ferry"), "same_site"],
    ["is in an archive", copy(text(0, 200), "https://archive.ph/abc"), "others_page"],
    ["is shown by a translator", copy(text(0, 200), "https://news-example.translate.goog/a"), "others_page"],
    ["is no longer than the teaser by half", copy(text(0, 80)), "short"],
    ["is no document", { ...copy(text(0, 200)), kind: "binary" as const }, "unreadable"],
  ])("does not count when it %s", (_, found, reason) => {
    expect(judgeCopy(wanted(), found, "words", true)).toEqual({ kind: "rejected", reason });
  });

  test("of one and a half times the teaser counts, one character less does not", () => {
    const teaser = KNOWN.text.length;
    const long = (chars: number) => text(0, 200).slice(0, chars).padEnd(chars, "x");
    const least = Math.ceil(1.5 * teaser);
    expect(judgeCopy(wanted(), copy(long(least)), "words", true).kind).toBe("verified");
    expect(judgeCopy(wanted(), copy(long(least - 1)), "words", true)).toEqual({
      kind: "rejected",
      reason: "short",
    });
  });

  test("may be metered, and may be of any length where nothing of the page was seen", () => {
    expect(
      judgeCopy(wanted(), copy(text(0, 200), undefined, { paywall: "metered" }), "words", true).kind,
    ).toBe("verified");
    expect(judgeCopy(wanted("gone"), copy(text(0, 61)), "words", true).kind).toBe("verified");
  });

  test("named by an identifier needs no words, but all the rest", () => {
    const unknown = wanted("robots", null);
    expect(judgeCopy(unknown, copy(text(100, 200)), "identifier", false)).toEqual({
      kind: "verified",
      score: 1,
    });
    expect(judgeCopy(unknown, copy(text(100, 200)), "words", false)).toEqual({
      kind: "rejected",
      reason: "no_lead",
    });
    expect(judgeCopy(unknown, copy("x"), "identifier", false)).toEqual({ kind: "rejected", reason: "short" });
  });
});

describe("candidates", () => {
  test("are one of each site, none of the page's own, none of services that show pages of others, at most five", () => {
    const urls = [
      "https://www.news.example/same",
      "https://a.example/1",
      "https://www.a.example/2",
      "https://web.archive.org/web/2026/https://news.example/a/ferry",
      "https://12ft.io/https://news.example/a/ferry",
      "ftp://b.example/",
      "no address",
      ...["b", "c", "d", "e", "f"].map((name) => `https://${name}.example/`),
    ];
    expect(candidatesOf(urls, wanted())).toEqual([
      "https://a.example/1",
      ...["b", "c", "d", "e"].map((name) => `https://${name}.example/`),
    ]);
  });

  test("of sites an operator joined are the page's own", () => {
    const joined = new Map([
      ["news.example", "news.example"],
      ["news.test", "news.example"],
    ]);
    expect(candidatesOf(["https://news.test/x"], wanted(), joined)).toEqual([]);
  });

  test.each([
    ["https://archive.org/details/x", true],
    ["https://web.archive.org/web/1/x", true],
    ["https://archive.is/x", true],
    ["https://sci-hub.se/10.1/x", true],
    ["https://r.jina.ai/https://x", true],
    ["https://webcache.googleusercontent.com/search?q=cache:x", true],
    ["https://translate.google.com/translate?u=x", true],
    ["https://archive.example/x", false],
    ["https://myarchive.org/x", false],
    ["https://arxiv.org/abs/1", false],
    ["https://www.reuters.com/world/x", false],
  ])("%s shows others' pages: %s", (url, shows) => {
    expect(showsOthersPages(url)).toBe(shows);
  });

  test("are searched for by the title, else by the first words, and not at all without a lead", () => {
    expect(queryOf(wanted())).toBe(KNOWN.title);
    expect(queryOf(wanted("paywall", { ...KNOWN, title: "News" }))).toBe(text(0, 12));
    expect(queryOf(wanted("paywall", { ...KNOWN, text: text(0, 30) }))).toBeNull();
    expect(queryOf(wanted("robots", null))).toBeNull();
  });
});

describe("one piece", () => {
  test.each([
    ["https://www.news.example/a/?utm_source=x&id=3#top", "news.example/a?id=3"],
    ["http://news.example/a?id=3", "news.example/a?id=3"],
    ["https://news.example/", "news.example"],
    ["news.example/a", null],
    ["urn:uuid:1", null],
    ["javascript:alert(1)", null],
  ])("%s is %s", (url, address) => {
    expect(addressOf(url)).toBe(address);
  });

  test.each([
    ["Ferry makes its last crossing", "Ferry makes its last crossing | The News", true],
    ["Ferry makes its last crossing", "FERRY MAKES ITS LAST CROSSING", true],
    ["Ferry makes its last crossing", "Ferry makes its first crossing", true],
    ["Ferry makes its last crossing", "Tunnel opens a year late after all", false],
    ["News", "News", true],
    ["News", "News of the harbour today", false],
    ["", "", false],
  ])("%j and %j: %s", (one, other, same) => {
    expect(isSameTitle(one, other)).toBe(same);
    expect(isSameTitle(other, one)).toBe(same);
  });

  test.each([
    ["its own title says so", KNOWN.title!, { title: "Ferry makes its last crossing" }, true],
    [
      "its first page says so",
      KNOWN.title!,
      { title: "untitled.pdf", text: `Ferry makes its last crossing. ${text(0, 99)}` },
      true,
    ],
    ["neither does", KNOWN.title!, { title: "Tides of the north sea" }, false],
    [
      "the register speaks of another paper",
      "Tides of the north sea",
      { title: "Tides of the north sea" },
      false,
    ],
    ["the register names none", null, { title: KNOWN.title }, false],
  ])("a paper is the one wanted when %s", (_, registered, more, isIt) => {
    expect(isThePaper(wanted(), registered, copy(text(0, 99), undefined, more))).toBe(isIt);
  });
});
