import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bareName,
  foldName,
  tickerDirectory,
  isListedHere,
  parseTickerList,
} from "../../../../actors/sources/filings/ticker-lists.ts";
import { parseTicker } from "../../../../actors/sources/filings/identifiers.ts";
import { sqliteNameIndex } from "../../../../actors/sources/filings/adapters/name-index.sqlite.ts";

test.each([
  ["AT&T INC.", "AT AND T INC"],
  ["  Nestlé   S.A. ", "NESTLE S A"],
  ["Société Générale", "SOCIETE GENERALE"],
  ["E.ON SE", "E ON SE"],
  ["Company Name Three `!#$(),:;=.-;\\|@/{}&'\\WA\\", "COMPANY NAME THREE AND WA"],
  ["トヨタ自動車", "トヨタ自動車"],
])("%j is compared as %j", (name, folded) => expect(foldName(name)).toBe(folded));

test.each([
  ["SIEMENS ENERGY AG/ADR", "SIEMENS ENERGY"],
  ["NOKIA CORP/FI", "NOKIA"],
  ["BANK OF AMERICA CORP /DE/", "BANK OF AMERICA"],
  ["Nestlé S.A.", "NESTLE"],
  ["Co", "CO"],
  ["Harbour Dredging PLC", "HARBOUR DREDGING"],
])("%j is the company %j", (name, bare) => expect(bareName(name)).toBe(bare));

test("names are found as one would find them by looking through them all", () => {
  const names = fc.array(
    fc.string({ unit: fc.constantFrom("A", "B", "C", " ", "1"), minLength: 1, maxLength: 8 }),
    {
      maxLength: 200,
    },
  );
  const wanted = fc.string({ unit: fc.constantFrom("A", "B", "C", " ", "1"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(names, wanted, (raw, raw_needle) => {
      const folded = raw.map(foldName);
      const needle = foldName(raw_needle);
      fc.pre(needle !== "");
      const index = sqliteNameIndex(folded);
      const find = (how: "whole" | "start" | "within"): number[] => [...index.find(how, needle)];
      const among = (fits: (name: string) => boolean): number[] =>
        folded.flatMap((name, at) => (fits(name) ? [at] : []));
      expect(find("whole")).toEqual(among((name) => name === needle));
      expect(find("start")).toEqual(among((name) => name.startsWith(needle)));
      expect(find("within")).toEqual(among((name) => name.includes(needle)));
    }),
    { numRuns: 200 },
  );
});

test("a search ends when it has enough", () => {
  const index = sqliteNameIndex(Array.from({ length: 1_000 }, (_, n) => `NAME ${n}`));
  const seen: number[] = [];
  for (const at of index.find("start", "NAME")) if (seen.push(at) === 3) break;
  expect(seen).toEqual([0, 1, 2]);
  expect([...index.find("whole", "NAME 7")]).toEqual([7]);
});

const EXCHANGES = {
  // Columns are known by their names, not by their places.
  fields: ["ticker", "cik", "exchange", "name"],
  data: [
    ["HLI", 9_000_001, "Nasdaq", "Harbour Lights Inc."],
    ["TWF-B", 9_000_002, "NYSE", "Tidewater Ferries Corp."],
    ["TWF-A", 9_000_002, "NYSE", "Tidewater Ferries Corp."],
    ["TWFA", 9_000_004, "NYSE", "Towage & Wharfage Fund of America"],
    ["HDPLF", 9_000_003, null, "Harbour Dredging PLC"],
    ["HLIH", 9_000_005, "NYSE", "Harbour Lights Hotels Trust"],
    ["HDP", 9_000_006, "OTC", "HARBOUR DREDGING PLC/ADR"],
    ["", 1, "NYSE", "No ticker"],
    ["X", "1", "NYSE", "No number"],
  ],
};
const TICKERS = {
  0: { cik_str: 9_000_001, ticker: "HLI", title: "Harbour Lights Inc." },
  1: { cik_str: 9_000_007, ticker: "NEWB", title: "New Buoys Ltd." },
};

describe("a directory", () => {
  const first = parseTickerList(EXCHANGES)!;
  const filers = tickerDirectory([first, parseTickerList(TICKERS)!], sqliteNameIndex);

  test("keeps the order of its list: the primary ticker is the first", () => {
    expect(filers.byTicker("TWF-A")).toEqual({
      cik: 9_000_002,
      cik_padded: "0009000002",
      title: "Tidewater Ferries Corp.",
      tickers: ["TWF-B", "TWF-A"],
      exchanges: ["NYSE", "NYSE"],
    });
  });

  test("never takes a dash out: two companies differ by nothing else (BC-PC and BCPC)", () => {
    expect(filers.byTicker("TWFA")!.cik).toBe(9_000_004);
    expect(filers.byTicker("TWF-A")!.cik).toBe(9_000_002);
    expect(filers.byTicker("TWF-")).toBeNull();
    expect(filers.byTicker("TWF")).toBeNull();
  });

  test("does not know another country's suffix: T.TO is not AT&T", () => {
    const read = parseTicker("HLI.TO");
    expect(read.kind === "valid" && filers.byTicker(read.value.symbol)).toBeNull();
  });

  test("has rows without an exchange, and those of the second list only", () => {
    expect(filers.byTicker("HDPLF")).toMatchObject({ tickers: ["HDPLF"], exchanges: [null] });
    expect(filers.byTicker("NEWB")).toMatchObject({ cik: 9_000_007, exchanges: [null] });
    expect(filers.byCik(9_000_001)).toMatchObject({ tickers: ["HLI"], exchanges: ["Nasdaq"] });
  });

  test("finds a whole name before a beginning before a part, in the order of the list", () => {
    const ciks = (name: string) => filers.byName(name).map(({ cik }) => cik);
    expect(ciks("harbour lights inc")).toEqual([9_000_001]);
    expect(ciks("Harbour Lights")).toEqual([9_000_001, 9_000_005]);
    expect(ciks("ferries")).toEqual([9_000_002]);
    expect(ciks("towage and wharfage")).toEqual([9_000_004]);
    expect(ciks("lighthouse")).toEqual([]);
  });

  test("knows a company of another register by its name without legal form and tails", () => {
    expect(filers.byCompany(["Harbour Dredging plc", "Hafenbagger AG"]).map(({ cik }) => cik)).toEqual([
      9_000_003, 9_000_006,
    ]);
    expect(filers.byCompany(["Harbour"])).toEqual([]);
  });
});

test.each([null, [], 3, {}, { fields: ["a"], data: [] }, { fields: ["cik", "name", "ticker"], data: "x" }])(
  "%j is no list of filers",
  (value) => expect(parseTickerList(value)).toBeNull(),
);

test.each([
  ["NYSE:KMI", true],
  ["XNAS:AAPL", true],
  ["OTC:BAYRY", true],
  ["KMI", true],
  ["SWX:NESN", false],
  ["XPAR:ALB", false],
])("%s is on the list's exchanges: %s", (ticker, listed) => {
  const read = parseTicker(ticker);
  expect(read.kind === "valid" && isListedHere(read.value)).toBe(listed);
});
