/**
 * Items of a batch: the check of an item before its job is created, and the operation it stands for. An item is answered
 * as its endpoint answers.
 */
import { FILINGS_OPS, type FilingsCall, type FilingsItem, type FilingsOp } from "../../../schemas/filings.ts";
import { parseCall } from "./parse-request.ts";

/** The fields the client sent; null counts as not sent. */
type Fields = { readonly [K in keyof FilingsItem]?: Exclude<FilingsItem[K], null> };
const withoutNulls = (item: FilingsItem): Fields =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null && value !== undefined));

const BY_FILER = ["cik", "ticker", "isin"] as const;
/** An item names its filer by exactly one of these. */
const NAMES: Readonly<Record<FilingsOp, readonly (keyof FilingsItem)[]>> = {
  resolve: ["ticker", "cik", "name", "isin"],
  submissions: BY_FILER,
  latest: BY_FILER,
  facts: BY_FILER,
  filing: ["cik"],
  document: ["cik"],
};
const ALL_NAMES = NAMES.resolve;
/** Further fields the operation needs. */
const NEEDED: Readonly<Partial<Record<FilingsOp, readonly (keyof FilingsItem)[]>>> = {
  filing: ["accession"],
  document: ["accession", "document"],
};

const isOp = (op: string): op is FilingsOp => FILINGS_OPS.some((candidate) => candidate === op);

/** Null: the item can be run. */
export function checkFilingsItem(
  item: FilingsItem,
): { readonly field: string; readonly message: string } | null {
  const { op } = item;
  if (!isOp(op)) return { field: "op", message: `op must be one of ${FILINGS_OPS.join(", ")}` };
  const fields = withoutNulls(item);
  const names = ALL_NAMES.filter((name) => name in fields);
  if (names.length !== 1 || !NAMES[op].includes(names[0]!)) {
    const accepted = NAMES[op];
    const expected =
      accepted.length === 1
        ? accepted[0]
        : `exactly one of ${accepted.slice(0, -1).join(", ")} and ${accepted.at(-1)}`;
    return { field: "op", message: `${op} needs ${expected}` };
  }
  const missing = NEEDED[op]?.find((name) => !(name in fields));
  if (missing) return { field: missing, message: `${op} needs ${missing}` };
  // No operation of an item depends on the time.
  const parsed = parseCall(op, fields, 0);
  // A message begins with the field it is about; if that is no field of the item, the filer's name is wrong.
  const field = parsed.kind === "invalid" ? /^\w+/.exec(parsed.message)![0] : "";
  return parsed.kind === "invalid"
    ? { field: field in fields ? field : names[0]!, message: parsed.message }
    : null;
}

/** The fields of an item as its operation takes them. */
export const fieldsOf = (item: FilingsItem): FilingsCall["fields"] => withoutNulls(item);

/** Three lanes of four items: at most twelve items of a job wait for the limiter at a time. */
const LANES = 3;

export function filingsLane(item: FilingsItem): string {
  const { cik, ticker, isin, name } = item;
  const filer = String(cik ?? ticker ?? isin ?? name ?? "");
  let sum = 0;
  for (const char of filer) sum = (sum * 31 + char.codePointAt(0)!) % 1_000_003;
  return `filings ${sum % LANES}`;
}
