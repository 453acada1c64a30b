/** The language of a page, where its declaration and its text differ. */
import { expect, test, vi } from "vitest";
import { languageOf, loadDetector } from "../../../actors/reading/article/language.ts";
import { tasks } from "../../../actors/reading/extract.ts";

const POLISH = "Prom odpłynął z Lindholmu po raz ostatni we wtorek, a na nabrzeżu zebrało się kilkaset osób.";
const RUSSIAN = "Паром в последний раз отошёл от причала во вторник вечером.";
const ENGLISH = "The old ferry of Lindholm left its berth for the last time on Tuesday in the rain.";
const NORWEGIAN = "Fergen forlot kaia for siste gang tirsdag kveld, og flere hundre mennesker sto i regnet.";
const CHINESE =
  "渡轮星期二晚上最后一次离开码头，几百人站在雨中为它送行，船长向岸上的人们挥手告别，许多人都流下了眼泪。";

test("says that the detector is needed as long as it is not loaded", async () => {
  vi.resetModules();
  const fresh = await import("../../../actors/reading/article/language.ts");
  expect(fresh.languageOf(null, POLISH)).toEqual({ language: null, needs_detector: true });
  expect(fresh.languageOf("en", ENGLISH)).toEqual({ language: "en", needs_detector: false });
});

test("a reader process loads it for the page that needs it", async () => {
  const page = `<html lang="en"><body><main><h1>Prom</h1><p>${`${POLISH} `.repeat(6)}</p></main></body></html>`;
  const read = await tasks.page();
  const extracted = await read(
    {
      bytes: Buffer.from(page),
      url: "https://www.harbour.example/prom",
      content_type: "text/html; charset=utf-8",
      kind: "html",
      now_ms: Date.UTC(2026, 10, 21),
    },
    () => 0,
  );
  expect(extracted.meta?.language).toBe("pl");
});

test.each([
  ["a template's English", "en", POLISH, "pl"],
  ["English with a region", "en-US", RUSSIAN, "ru"],
  ["nothing", null, CHINESE, "zh"],
  ["nothing, of an English text", null, ENGLISH, "en"],
  ["another script", "de", RUSSIAN, "ru"],
  ["its own language and region", "pl-PL", POLISH, "pl-PL"],
  ["English of Britain", "en-GB", ENGLISH, "en-GB"],
  ["a language near the detected one", "nn", NORWEGIAN, "nn"],
  ["English, of a short text", "en", "Prom", "en"],
  [
    "English, of a list of names",
    "en-GB",
    "HX-40 1,280 g, 34 l, IP67, 14 N\nHX-60 1,560 g, 48 l, IP67",
    "en-GB",
  ],
])("declared: %s", async (_, declared, text, language) => {
  await loadDetector();
  expect(languageOf(declared, text).language).toBe(language);
});
