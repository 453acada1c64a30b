/** Dates as pages write them, to the forms that ArticleMeta has. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { dateInUrl, parseDate } from "../../../../actors/reading/article/dates.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

test.each([
  // A zone: UTC with Z.
  ["2023-01-05T10:20:30Z", "2023-01-05T10:20:30Z"],
  ["2023-01-05T10:20:30+01:00", "2023-01-05T09:20:30Z"],
  ["2023-01-05T23:20:30-0500", "2023-01-06T04:20:30Z"],
  ["2023-01-05T10:20:30.123456789+00:00", "2023-01-05T10:20:30Z"],
  ["2023-01-05 10:20:30 UTC", "2023-01-05T10:20:30Z"],
  ["2023-01-05T10:20Z", "2023-01-05T10:20:00Z"],
  ["20230105T102030Z", "2023-01-05T10:20:30Z"],
  ["Thu, 05 Jan 2023 10:20:30 +0100", "2023-01-05T09:20:30Z"],
  ["Thu, 05 Jan 2023 10:20:30 GMT", "2023-01-05T10:20:30Z"],
  ["Thu Jan 05 10:20:30 +0000 2023", "2023-01-05T10:20:30Z"],
  ["Jan 5, 2023 5:30 p.m. EST", "2023-01-05T22:30:00Z"],
  ["1672914030", "2023-01-05T10:20:30Z"],
  ["1672914030123", "2023-01-05T10:20:30Z"],
  // A time without a zone stays without one; an offset that cannot be is none.
  ["2023-01-05T10:20:30", "2023-01-05T10:20:30"],
  ["2023-01-05 10:20:30", "2023-01-05T10:20:30"],
  ["2023-01-05T10:20:30+99:99", "2023-01-05T10:20:30"],
  ["2023-01-05T10:20:30+9999", "2023-01-05T10:20:30"],
  ["Jan 5, 2023 5:30 pm", "2023-01-05T17:30:00"],
  ["05.01.2023, 17:30 Uhr", "2023-01-05T17:30:00"],
  // As short as they were.
  ["2023-01-05", "2023-01-05"],
  ["2023/1/5", "2023-01-05"],
  ["20230105", "2023-01-05"],
  ["2023-01", "2023-01"],
  ["2023", "2023"],
  ["January 2023", "2023-01"],
  // Month names in eight languages.
  ["Jan 5, 2023", "2023-01-05"],
  ["January 5th, 2023", "2023-01-05"],
  ["5 January 2023", "2023-01-05"],
  ["Published on Thursday, 5th of January 2023", "2023-01-05"],
  ["5. Jänner 2023", "2023-01-05"],
  ["Veröffentlicht am 5. März 2023", "2023-03-05"],
  ["5 février 2023", "2023-02-05"],
  ["le 1er août 2023", "2023-08-01"],
  ["5 de enero de 2023", "2023-01-05"],
  ["5 gennaio 2023", "2023-01-05"],
  ["5 de março de 2023", "2023-03-05"],
  ["5 maart 2023", "2023-03-05"],
  ["5 maj 2023", "2023-05-05"],
  ["2023年1月5日", "2023-01-05"],
  ["05.01.2023", "2023-01-05"],
  ["05 | 01 | 2023", "2023-01-05"],
  ["31/01/2023", "2023-01-31"],
  ["01/31/2023", "2023-01-31"],
  ["05/05/2023", "2023-05-05"],
])("reads %s", (text, date) => {
  expect(parseDate(text, null, NOW_MS)).toBe(date);
});

test.each([
  ["05/01/2023", "de", "2023-01-05"],
  ["05/01/2023", "en-GB", "2023-01-05"],
  ["05/01/2023", "en-US", "2023-05-01"],
  ["05/01/2023", "en", null],
  ["05/01/2023", null, null],
])("decides %s by the language %s", (text, language, date) => {
  expect(parseDate(text, language, NOW_MS)).toBe(date);
});

test.each([
  ["5 января 2023 г.", "2023-01-05"],
  ["5 СІЧНЯ 2023", "2023-01-05"],
  ["5 януари 2023 г.", "2023-01-05"],
  ["5 stycznia 2023, 17:30", "2023-01-05T17:30:00"],
  ["5. ledna 2023", "2023-01-05"],
  ["12. 3. 2023", "2023-03-12"],
  ["5. januára 2023", "2023-01-05"],
  ["2023. március 5. 17:30", "2023-03-05T17:30:00"],
  ["2023 m. kovo 5 d.", "2023-03-05"],
  ["2023. gada 5. marts", "2023-03-05"],
  ["5 ianuarie 2023", "2023-01-05"],
  ["5 Ocak 2023", "2023-01-05"],
  ["5. tammikuuta 2023", "2023-01-05"],
  ["5. januar 2023", "2023-01-05"],
  ["5 Μαρτίου 2023, 3:15 μ.μ.", "2023-03-05T15:15:00"],
  ["5 ΜΑΡΤΙΟΥ 2023", "2023-03-05"],
  ["٥ مارس ٢٠٢٣", "2023-03-05"],
  ["5 مارس، 2023", "2023-03-05"],
  ["5 במרץ 2023", "2023-03-05"],
  ["५ जनवरी २०२३", "2023-01-05"],
  ["৫ জানুয়ারি ২০২৩", "2023-01-05"],
  ["5 มกราคม 2566", "2023-01-05"],
  ["5 Maret 2023", "2023-03-05"],
  ["ngày 5 tháng 3 năm 2023", "2023-03-05"],
  ["۱۴ دی ۱۴۰۱", "2023-01-04"],
  ["1 فروردین 1402", "2023-03-21"],
  // With the Arabic yeh for the Persian one.
  ["2 تير 1399", "2020-06-22"],
  ["令和5年1月5日", "2023-01-05"],
  ["平成31年4月30日", "2019-04-30"],
  ["令和元年5月1日", "2019-05-01"],
  ["民國112年1月5日", "2023-01-05"],
  ["2023年1月5日 17:30", "2023-01-05T17:30:00"],
  ["2023年01月05日17时30分", "2023-01-05T17:30:00"],
  ["2023年1月5日 午後3時", "2023-01-05T15:00:00"],
  ["2023년 1월 5일 오후 3시 15분", "2023-01-05T15:15:00"],
  ["2023.01.05. 오후 3:15", "2023-01-05T15:15:00"],
  ["입력 2023.01.05 11:20", "2023-01-05T11:20:00"],
  ["2023. 1. 5.", "2023-01-05"],
])("reads %s, whatever the language", (text, date) => {
  expect(parseDate(text, null, NOW_MS)).toBe(date);
});

test.each([
  ["12.3.24", "de", "2024-03-12"],
  ["12.3.24", null, "2024-03-12"],
  ["12/03/24", "fr", "2024-03-12"],
  ["12/03/24 15:30", "es", "2024-03-12T15:30:00"],
  ["03/12/24", "en-US", "2024-03-12"],
  ["12/03/24", null, null],
  ["24.03.12", "ko", "2024-03-12"],
  ["12.3.98", "de", "1998-03-12"],
  ["Version 12.3.24, 4 of 5", "de", null],
  ["Πέμπτη 15 Δεκέμβρη 2022", "el", "2022-12-15"],
  ["3 Μάη 2023", "el", "2023-05-03"],
  ["5 listopada 2023", "pl", "2023-11-05"],
  ["5 listopada 2023", "hr", "2023-10-05"],
])("reads %s in the language %s", (text, language, date) => {
  expect(parseDate(text, language, NOW_MS)).toBe(date);
});

test("the names of months are those of CLDR", () => {
  for (const language of [
    "af",
    "bg",
    "ca",
    "cs",
    "da",
    "el",
    "et",
    "fi",
    "he",
    "hr",
    "hu",
    "is",
    "ka",
    "kk",
    "lv",
    "uk",
    "uz",
  ])
    for (let month = 1; month <= 12; month += 1) {
      const at = Date.UTC(2023, month - 1, 15);
      const name = new Intl.DateTimeFormat(language, { month: "long", day: "numeric" })
        .formatToParts(at)
        .find(({ type }) => type === "month")!.value;
      const date = `2023-${String(month).padStart(2, "0")}-15`;
      expect([language, name, parseDate(`15 ${name} 2023`, language, NOW_MS)]).toEqual([
        language,
        name,
        date,
      ]);
    }
});

test.each([
  ["before 1995", "1994-12-31"],
  ["the beginning of the epoch", "1970-01-01T00:00:00Z"],
  ["a default of year one", "0001-01-01T00:00:00"],
  ["more than two days ahead", "2026-11-24"],
  ["month 13", "2023-13-05"],
  ["30 February", "2023-02-30"],
  ["words", "last Tuesday"],
  ["a version", "version 4.2.20234"],
  ["nothing", ""],
  ["a name that is no month", "5 bananas 2023"],
])("refuses %s", (_, text) => {
  expect(parseDate(text, "en-US", NOW_MS)).toBeNull();
});

test("takes what is up to two days ahead, because clocks differ", () => {
  expect(parseDate("2026-11-23", null, NOW_MS)).toBe("2026-11-23");
});

test.each([
  ["https://a.example/2023/01/05/title", "2023-01-05"],
  ["https://a.example/news/2023-01-05-title", "2023-01-05"],
  ["https://a.example/story_20230105.html", "2023-01-05"],
  ["https://a.example/2023/01/title", null],
  ["https://a.example/2023/13/45/title", null],
  ["https://a.example/item/120230105", null],
])("finds the day in the address %s", (url, date) => {
  expect(dateInUrl(url, NOW_MS)).toBe(date);
});

test("whatever is read is one of the four forms, and reads back as itself", () => {
  const FORM = /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d:\d\dZ?)?)?)?$/;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 40 }),
        fc.stringMatching(/^[0-9T:.,/ +Z-]{4,30}$/),
        fc
          .date({ min: new Date("1996-01-01"), max: new Date("2026-11-20"), noInvalidDate: true })
          .map((date) => date.toISOString()),
      ),
      (text) => {
        const date = parseDate(text, "en-US", NOW_MS);
        if (date === null) return;
        expect(date).toMatch(FORM);
        expect(parseDate(date, null, NOW_MS)).toBe(date);
      },
    ),
    { numRuns: 500 },
  );
});
