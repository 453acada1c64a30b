/** Paywalls are detected, never circumvented: evidence, verdicts and traps as tables. */
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";

const NOW_MS = Date.UTC(2026, 10, 21);
const SENTENCES = [
  "The old ferry of Lindholm left its berth for the last time on Tuesday, after ninety-one years of service.",
  "A crowd of about four hundred stood on the quay in the rain, and a brass band played over the engines.",
  "The council decided in spring to replace the vessel by a tunnel that will cost as much as a hospital.",
  "Engineers had warned for a decade that the hull was thinner than a dinner plate in several places.",
  "Until the tunnel is ready a bus will drive around the bay eleven times a day, in fifty minutes.",
];
const prose = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `<p>${i + 1}: ${SENTENCES[i % 5]} ${SENTENCES[(i + 1) % 5]}</p>`,
  ).join("\n");
const FULL = prose(14);
const SHORT = prose(2);
const ld = (fields: object): string =>
  `<script type="application/ld+json">${JSON.stringify({ "@type": "NewsArticle", headline: "The last crossing", ...fields })}</script>`;
const CLOSED = ld({ isAccessibleForFree: false });
const read = (head: string, body: string) =>
  readHtml(
    `<html lang="en"><head><title>The last crossing</title><meta property="og:type" content="article">${head}</head><body><main><article><h1>The last crossing</h1>${body}</article></main></body></html>`,
    "https://www.harbour.example/x",
    NOW_MS,
  );
const gate = (words: string): string =>
  `<div class="paywall"><h3>${words}</h3><p>From two euros a week.</p></div>`;

test.each([
  ["nothing is declared", "", FULL, "none"],
  ["declared, and the text is all there", CLOSED, FULL, "metered"],
  ["declared as a word", ld({ isAccessibleForFree: "False" }), FULL, "metered"],
  ["declared free", ld({ isAccessibleForFree: true }), FULL, "none"],
  ["a tier that is locked", '<meta property="article:content_tier" content="locked">', FULL, "metered"],
  ["a tier that is metered", '<meta property="article:content_tier" content="metered">', FULL, "metered"],
  ["a tier that is free", '<meta property="article:content_tier" content="free">', FULL, "none"],
  [
    "a vendor's script alone",
    '<script src="https://cdn.tinypass.com/api/tinypass.min.js"></script>',
    FULL,
    "none",
  ],
  ["a gate with its phrase under a short text", "", SHORT + gate("Subscribe to continue reading"), "hard"],
  ["a gate with its phrase under a full text", "", FULL + gate("Subscribe to continue reading"), "none"],
  ["a gate under next to nothing", "", `<p>${SENTENCES[0]}</p>${gate("Our offers for you")}`, "unknown"],
  [
    "a text that ends in dots before a gate",
    "",
    `${FULL}<p>${SENTENCES[1]} And then the captain said …</p>${gate("Subscribe to continue reading")}`,
    "hard",
  ],
  [
    "a sold part that is missing",
    ld({
      isAccessibleForFree: false,
      hasPart: { "@type": "WebPageElement", isAccessibleForFree: false, cssSelector: ".sold" },
    }),
    SHORT,
    "hard",
  ],
  [
    "a sold part that is empty",
    ld({ hasPart: { "@type": "WebPageElement", isAccessibleForFree: "False", cssSelector: ".sold" } }),
    `${SHORT}<div class="sold"></div>`,
    "hard",
  ],
  [
    "a sold part that is there",
    ld({ hasPart: { "@type": "WebPageElement", isAccessibleForFree: false, cssSelector: ".sold" } }),
    `<div class="sold">${FULL}</div>`,
    "metered",
  ],
  [
    "far fewer words than declared, and declared closed",
    ld({ isAccessibleForFree: false, wordCount: 2_000 }),
    SHORT,
    "hard",
  ],
  ["far fewer words than declared, and nothing else", ld({ wordCount: 2_000 }), SHORT, "none"],
  ["a faded end of a declared text", CLOSED, `<div class="article-body fade-out">${SHORT}</div>`, "hard"],
  ["a meter", "", `${FULL}<div>You have 2 free articles left this month</div>`, "metered"],
] as const)("verdict: %s", (_, head, body, verdict) => {
  expect(read(head, body).paywall).toBe(verdict);
});

describe("phrases in five languages, inside a gate", () => {
  test.each([
    ["phrase_de", "Jetzt weiterlesen mit Hafenbote Plus"],
    ["phrase_de", "Sie sind bereits Abonnent?"],
    ["phrase_en", "Subscribe to continue reading"],
    ["phrase_en", "This article is for subscribers only"],
    ["phrase_fr", "Cet article est réservé aux abonnés"],
    ["phrase_fr", "Abonnez-vous pour lire la suite"],
    ["phrase_it", "Contenuto riservato agli abbonati"],
    ["phrase_it", "Per continuare a leggere abbonati"],
    ["phrase_es", "Contenido exclusivo para suscriptores"],
    ["phrase_es", "Suscríbete para seguir leyendo"],
  ])("%s: %s", (code, words) => {
    expect(read("", SHORT + gate(words)).paywall_evidence).toContain(code);
  });

  test.each([
    ["metered_de", "Sie haben noch 2 kostenlose Artikel"],
    ["metered_en", "3 free articles left"],
    ["metered_fr", "Il vous reste 2 articles à lire ce mois-ci"],
    ["metered_it", "Ti restano 3 articoli"],
    ["metered_es", "Te quedan 2 artículos gratis"],
  ])("%s: %s", (code, words) => {
    const answer = read("", `${FULL}<div>${words}</div>`);
    expect(answer.paywall_evidence).toContain(code);
    expect(answer.paywall).toBe("metered");
  });
});

test.each([
  ["vendor_piano", '<script src="https://cdn.tinypass.com/api/tinypass.min.js"></script>'],
  ["vendor_cxense", '<script src="https://cdn.cxense.com/cx.js"></script>'],
  ["vendor_poool", '<script src="https://assets.poool.fr/access.min.js"></script>'],
  ["vendor_zephr", '<script src="https://assets.zephr.com/zephr-browser/1.0/zephr-browser.umd.js"></script>'],
  ["vendor_leaky", '<script src="/wp-content/plugins/leaky-paywall/js/lp.js"></script>'],
  ["vendor_steady", '<script src="https://steadyhq.com/widget_loader/abc"></script>'],
  ["vendor_laterpay", '<script src="https://connector.laterpay.net/3-stable/config.js"></script>'],
  ["vendor_pelcro", '<script src="https://js.pelcro.com/sdk/main.min.js"></script>'],
  ["vendor_plenigo", '<script src="https://static.plenigo.com/static_resources/javascript/x.js"></script>'],
  ["vendor_evolok", '<script src="https://x.evolok.net/a.js"></script>'],
  ["vendor_sophi", '<script src="https://cdn.sophi.io/assets/demeter.js"></script>'],
  ["vendor_wallkit", '<script src="https://cdn1.wallkit.net/js/sdk.js"></script>'],
  ["vendor_qiota", '<script src="https://static.qiota.com/x.js"></script>'],
  [
    "vendor_memberful",
    '<script src="https://d35xxde4fgg0cx.cloudfront.net/x.js"></script><script>window.MemberfulOptions={site:"https://a.memberful.com"}</script>',
  ],
  ["vendor_swg", '<script src="https://news.google.com/swg/js/v1/swg.js"></script>'],
  ["vendor_arc", '<script src="https://a.example/arc/subs/p.min.js"></script>'],
  [
    "vendor_amp_subs",
    '<script custom-element="amp-access" src="https://cdn.ampproject.org/v0/amp-access-0.1.js"></script>',
  ],
  ["vendor_substack", '<script src="https://substackcdn.com/bundle/main.js"></script>'],
  ["vendor_ghost", '<script src="https://cdn.jsdelivr.net/ghost/portal@~2.0/umd/portal.min.js"></script>'],
])("%s is seen, and is not sufficient alone", (code, head) => {
  const answer = read(head, FULL);
  expect(answer.paywall_evidence).toEqual([code]);
  expect(answer.paywall).toBe("none");
});

describe("traps", () => {
  test.each([
    ["a newsletter's button", "<p>Jetzt abonnieren</p>"],
    [
      "a phrase in the middle of a text",
      `<p>Abonnez-vous pour lire la suite, said the sign at the quay in large letters.</p>${FULL}`,
    ],
    ["a phrase in the navigation", "<nav><a href='/x'>Already a subscriber? Sign in to continue</a></nav>"],
    [
      "a gate that is hidden for those let in",
      `<div class="paywall" hidden>Subscribe to continue reading</div>`,
    ],
    ["a gate without words, to be filled by a script", '<div id="piano-container" class="paywall"></div>'],
    ["a container named after the wall, around the text", `<div class="paywall-content">${FULL}</div>`],
  ])("%s is no paywall", (_, body) => {
    expect(read("", FULL + body).paywall).toBe("none");
  });
});

test("of a page that is sold nothing hidden is taken, nor its JSON-LD", () => {
  const secret = "The hidden remainder of the article speaks of a treasure in the boiler. ".repeat(20);
  const head = ld({ isAccessibleForFree: false, articleBody: secret });
  for (const body of [
    `${SHORT}<div class="accordion-panel" hidden><p>${secret}</p></div>`,
    `<p>${SENTENCES[0]}</p>`,
  ]) {
    const answer = read(head, body);
    expect(answer.text).not.toContain("treasure");
    expect(answer.paywall).toBe("hard");
    expect(answer.paywall_evidence).toContain("length_mismatch");
  }
  // A page without the paywall: its hidden panel is text.
  expect(read("", `${SHORT}<div class="accordion-panel" hidden><p>${secret}</p></div>`).text).toContain(
    "treasure",
  );
});
