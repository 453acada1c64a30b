/**
 * A listing as people write it, as the references under which the register has it: `XSWX:NESN`, `SWX:NESN` and `NESN.SW` are
 * one, and `NESN` is a listing on any of these markets. Pure.
 */

interface Market {
  readonly mic: string;
  /** Before a colon. */
  readonly names: string;
  /** After a dot, as Reuters and Yahoo write it. */
  readonly suffix: string;
  /** OpenFIGI's code, which is Bloomberg's. Another alphabet: `SS` is Stockholm, `.SS` Shanghai. */
  readonly figi: string;
  readonly country: string;
}

/** The home markets of companies that file abroad: MIC, names, suffix, code of OpenFIGI, country. */
const MARKETS: readonly Market[] = (
  [
    ["XSWX", "SWX SIX", "SW", "SE", "CH"],
    ["XETR", "ETR XETRA GER", "DE", "GY", "DE"],
    ["XFRA", "FRA FWB", "F", "GF", "DE"],
    ["XLON", "LON LSE", "L", "LN", "GB"],
    ["XPAR", "EPA PAR", "PA", "FP", "FR"],
    ["XAMS", "AMS", "AS", "NA", "NL"],
    ["XBRU", "EBR BRU", "BR", "BB", "BE"],
    ["XLIS", "ELI LIS", "LS", "PL", "PT"],
    ["XDUB", "ISE DUB", "IR", "ID", "IE"],
    ["XMIL", "BIT MIL", "MI", "IM", "IT"],
    ["XMAD", "BME MAD", "MC", "SN", "ES"],
    ["XWBO", "VIE WBAG", "VI", "AV", "AT"],
    ["XSTO", "STO", "ST", "SS", "SE"],
    ["XCSE", "CPH", "CO", "DC", "DK"],
    ["XHEL", "HEL", "HE", "FH", "FI"],
    ["XOSL", "OSL OSE", "OL", "NO", "NO"],
    ["XWAR", "WSE GPW", "WA", "PW", "PL"],
    ["XIST", "IST BIST", "IS", "TI", "TR"],
    ["XTAE", "TLV TASE", "TA", "IT", "IL"],
    ["XTSE", "TSX TSE", "TO", "CT", "CA"],
    ["XTSX", "TSXV CVE", "V", "CV", "CA"],
    ["XTKS", "TYO JPX", "T", "JT", "JP"],
    ["XHKG", "HKG HKEX SEHK", "HK", "HK", "HK"],
    ["XSHG", "SHA SSE", "SS", "CG", "CN"],
    ["XSHE", "SHE SZSE", "SZ", "CS", "CN"],
    ["XKRX", "KRX", "KS", "KP", "KR"],
    ["XTAI", "TPE TWSE", "TW", "TT", "TW"],
    ["XSES", "SGX SES", "SI", "SP", "SG"],
    ["XNSE", "NSE", "NS", "IS", "IN"],
    ["XBOM", "BOM BSE", "BO", "IB", "IN"],
    ["XASX", "ASX", "AX", "AT", "AU"],
    ["XNZE", "NZE NZX", "NZ", "NZ", "NZ"],
    ["XJSE", "JSE", "JO", "SJ", "ZA"],
    ["BVMF", "BVMF B3", "SA", "BZ", "BR"],
    ["XMEX", "BMV", "MX", "MF", "MX"],
  ] as const
).map(([mic, names, suffix, figi, country]) => ({ mic, names, suffix, figi, country }));

/** Markets of the United States by OpenFIGI's code; their tickers are on the lists of filers. */
const US_MARKETS: Readonly<Record<string, string>> = {
  UN: "XNYS",
  UA: "XASE",
  UP: "ARCX",
  UF: "BATS",
  UW: "XNAS",
  UQ: "XNAS",
  UR: "XNAS",
};

const MIC_OF_NAME: ReadonlyMap<string, string> = new Map(
  MARKETS.flatMap(({ mic, names }) => names.split(" ").map((name) => [name, mic] as const)),
);
const MARKET_OF_SUFFIX: ReadonlyMap<string, Market> = new Map(MARKETS.map((each) => [each.suffix, each]));
const MARKET_OF_MIC: ReadonlyMap<string, Market> = new Map(MARKETS.map((each) => [each.mic, each]));
const MIC_OF_FIGI: ReadonlyMap<string, string> = new Map([
  ...MARKETS.map(({ mic, figi }) => [figi, mic] as const),
  ...Object.entries(US_MARKETS),
]);
const COUNTRY_OF_MIC: ReadonlyMap<string, string> = new Map([
  ...MARKETS.map(({ mic, country }) => [mic, country] as const),
  ...Object.values(US_MARKETS).map((mic) => [mic, "US"] as const),
]);

/** Undefined: a market that is not in the table. */
export const figiCodeOf = (mic: string): string | undefined => MARKET_OF_MIC.get(mic)?.figi;
export const micOfFigiCode = (code: string): string | undefined => MIC_OF_FIGI.get(code);
export const countryOfMarket = (mic: string): string | undefined => COUNTRY_OF_MIC.get(mic);

/** The home market first: of the listings in the company's country the first of the table, Xetra before Frankfurt. */
export function homeFirst(listings: readonly string[], country: string | null): readonly string[] {
  const mics = [...COUNTRY_OF_MIC.keys()];
  const rank = (listing: string): number => {
    const mic = listing.slice(0, listing.indexOf(":"));
    const at = mics.indexOf(mic);
    const isHome = country !== null && countryOfMarket(mic) === country;
    return (isHome ? 0 : mics.length + 1) + (at < 0 ? mics.length : at);
  };
  return listings.toSorted((a, b) => rank(a) - rank(b));
}

/** In the order in which they are looked up. `listing` is in upper case. */
export function listingReferences(listing: string): readonly string[] {
  const references = [`ticker:${listing}`];
  const [, name, symbol] = /^([^:]+):(.+)$/.exec(listing) ?? [];
  if (name !== undefined && symbol !== undefined) {
    const mic = MIC_OF_NAME.get(name);
    return mic === undefined ? references : [...references, `ticker:${mic}:${symbol}`];
  }
  const [, stem, suffix] = /^(.+)\.([A-Z]{1,2})$/.exec(listing) ?? [];
  const mic = suffix === undefined ? undefined : MARKET_OF_SUFFIX.get(suffix)?.mic;
  if (stem !== undefined && mic !== undefined) return [...references, `ticker:${mic}:${stem}`];
  return [...references, ...MARKETS.map(({ mic: each }) => `ticker:${each}:${listing}`)];
}

/** The one reference of a listing that names its market; null: it names none. */
export function listingOnMarket(listing: string): string | null {
  const [, named] = listingReferences(listing);
  const [reference] = listingReferences(listing);
  if (/^ticker:[A-Z]{4}:/.test(reference!) && COUNTRY_OF_MIC.has(reference!.slice(7, 11))) return reference!;
  return /[:.]/.test(listing) ? (named ?? null) : null;
}
