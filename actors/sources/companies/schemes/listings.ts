/**
 * A listing as people write it, as the references under which the register has it: `XSWX:NESN`, `SWX:NESN` and `NESN.SW` are
 * one, and `NESN` is a listing on any of these markets. Pure.
 */

/** The home markets of companies that file abroad: MIC, names before a colon, suffixes after a dot. */
const MARKETS: readonly (readonly [mic: string, names: string, suffixes: string])[] = [
  ["XSWX", "SWX SIX", "SW"],
  ["XETR", "ETR XETRA GER", "DE"],
  ["XFRA", "FRA FWB", "F"],
  ["XLON", "LON LSE", "L"],
  ["XPAR", "EPA PAR", "PA"],
  ["XAMS", "AMS", "AS"],
  ["XBRU", "EBR BRU", "BR"],
  ["XLIS", "ELI LIS", "LS"],
  ["XDUB", "ISE DUB", "IR"],
  ["XMIL", "BIT MIL", "MI"],
  ["XMAD", "BME MAD", "MC"],
  ["XWBO", "VIE WBAG", "VI"],
  ["XSTO", "STO", "ST"],
  ["XCSE", "CPH", "CO"],
  ["XHEL", "HEL", "HE"],
  ["XOSL", "OSL OSE", "OL"],
  ["XWAR", "WSE GPW", "WA"],
  ["XIST", "IST BIST", "IS"],
  ["XTAE", "TLV TASE", "TA"],
  ["XTSE", "TSX TSE", "TO"],
  ["XTSX", "TSXV CVE", "V"],
  ["XTKS", "TYO JPX", "T"],
  ["XHKG", "HKG HKEX SEHK", "HK"],
  ["XSHG", "SHA SSE", "SS"],
  ["XSHE", "SHE SZSE", "SZ"],
  ["XKRX", "KRX", "KS"],
  ["XTAI", "TPE TWSE", "TW"],
  ["XSES", "SGX SES", "SI"],
  ["XNSE", "NSE", "NS"],
  ["XBOM", "BOM BSE", "BO"],
  ["XASX", "ASX", "AX"],
  ["XNZE", "NZE NZX", "NZ"],
  ["XJSE", "JSE", "JO"],
  ["BVMF", "BVMF B3", "SA"],
  ["XMEX", "BMV", "MX"],
];

const micsBy = (column: 1 | 2): ReadonlyMap<string, string> =>
  new Map(MARKETS.flatMap((market) => market[column].split(" ").map((name) => [name, market[0]] as const)));
const MIC_OF_NAME = micsBy(1);
const MIC_OF_SUFFIX = micsBy(2);

/** In the order in which they are looked up. `listing` is in upper case. */
export function listingReferences(listing: string): readonly string[] {
  const references = [`ticker:${listing}`];
  const [, name, symbol] = /^([^:]+):(.+)$/.exec(listing) ?? [];
  if (name !== undefined && symbol !== undefined) {
    const mic = MIC_OF_NAME.get(name);
    return mic === undefined ? references : [...references, `ticker:${mic}:${symbol}`];
  }
  const [, stem, suffix] = /^(.+)\.([A-Z]{1,2})$/.exec(listing) ?? [];
  const mic = suffix === undefined ? undefined : MIC_OF_SUFFIX.get(suffix);
  if (stem !== undefined && mic !== undefined) return [...references, `ticker:${mic}:${stem}`];
  return [...references, ...MARKETS.map(([each]) => `ticker:${each}:${listing}`)];
}
