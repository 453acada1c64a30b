/**
 * Items of a batch: whether one can be run at all, and one try of it. What they answer is what the endpoints answer;
 * when a try is repeated is the job's business.
 */
import { FILINGS_OPS, type FilingsItem, type FilingsOp } from "../../schemas/filings.ts";
import {
  type DocumentFields,
  type FilingFields,
  type Named,
  readDocumentAsk,
  readFacts,
  readFiling,
  readLatest,
  readResolve,
  readSubmissionsAsk,
} from "./parse-request.ts";
import type { Checked } from "./identifiers.ts";
import type { Asker, FilingsService, Told, ToldDocument } from "./service.ts";

/** The fields that were given: null says as little as nothing. */
type Fields = { readonly [K in keyof FilingsItem]?: Exclude<FilingsItem[K], null> };
const given = (item: FilingsItem): Fields =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null && value !== undefined));

const BY_FILER = ["cik", "ticker", "isin"] as const;
/** What names the filer: exactly one of these. */
const NAMES: Readonly<Record<FilingsOp, readonly (keyof FilingsItem)[]>> = {
  resolve: ["ticker", "cik", "name", "isin"],
  submissions: BY_FILER,
  latest: BY_FILER,
  facts: BY_FILER,
  filing: ["cik"],
  document: ["cik"],
};
const ALL_NAMES = NAMES.resolve;
/** What else there must be. */
const NEEDED: Readonly<Partial<Record<FilingsOp, readonly (keyof FilingsItem)[]>>> = {
  filing: ["accession"],
  document: ["accession", "document"],
};

const isOp = (op: string): op is FilingsOp => FILINGS_OPS.some((known) => known === op);

const namedBy = ({ ticker, cik, name, isin }: Fields): Named => ({ ticker, cik, name, isin });

export interface ItemProblem {
  readonly field: string;
  readonly message: string;
}

/** Null: it can be run. */
export function checkFilingsItem(item: FilingsItem): ItemProblem | null {
  const { op } = item;
  if (!isOp(op)) return { field: "op", message: `op must be one of ${FILINGS_OPS.join(", ")}` };
  const fields = given(item);
  const names = ALL_NAMES.filter((name) => name in fields);
  if (names.length !== 1 || !NAMES[op].includes(names[0]!)) {
    const one = NAMES[op];
    const some =
      one.length === 1 ? one[0] : `exactly one of ${one.slice(0, -1).join(", ")} and ${one.at(-1)}`;
    return { field: "op", message: `${op} needs ${some}` };
  }
  const missing = NEEDED[op]?.find((name) => !(name in fields));
  if (missing) return { field: missing, message: `${op} needs ${missing}` };
  const read = readItem(op, fields);
  // Each sentence begins with the field it is about, or the filer's name is what is wrong.
  const field = read.kind === "wrong" ? /^\w+/.exec(read.message)![0] : "";
  return read.kind === "wrong" ? { field: field in fields ? field : names[0]!, message: read.message } : null;
}

function readItem(op: FilingsOp, fields: Fields): Checked<unknown> {
  switch (op) {
    case "resolve":
      return readResolve(namedBy(fields));
    case "submissions":
      return readSubmissionsAsk(namedBy(fields), fields);
    case "latest":
      return readLatest(namedBy(fields), fields);
    case "facts":
      return readFacts(namedBy(fields));
    case "filing":
      return readFiling(fields as FilingFields);
    case "document":
      return readDocumentAsk(fields as DocumentFields);
  }
}

/** What one try came to, before it is put into words for whoever reads the job. */
export type FilingsRan =
  | { readonly kind: "told"; readonly op: FilingsOp; readonly told: Told<Outcome> }
  | { readonly kind: "document"; readonly told: ToldDocument };

interface Outcome {
  readonly error: string | null;
  readonly retry_after_s: number | null;
  readonly cached: boolean;
}

/** The item was checked when its job was created. Throws Fault. */
export async function runFilingsItem(
  service: FilingsService,
  item: FilingsItem,
  asker: Asker,
): Promise<FilingsRan> {
  const op = item.op as FilingsOp;
  const fields = given(item);
  const named = namedBy(fields);
  switch (op) {
    case "resolve":
      return { kind: "told", op, told: await service.resolve(named, asker) };
    case "submissions":
      return { kind: "told", op, told: await service.submissions(named, fields, asker) };
    case "latest":
      return { kind: "told", op, told: await service.latest(named, fields, asker) };
    case "facts":
      return { kind: "told", op, told: await service.facts(named, asker) };
    case "filing":
      return { kind: "told", op, told: await service.filing(fields as FilingFields, asker) };
    case "document":
      return { kind: "document", told: await service.document(fields as DocumentFields, asker) };
  }
}

/** Three lanes of four: never more than twelve wait for the limiter, and never none. */
const LANES = 3;

export function filingsLane(item: FilingsItem): string {
  const { cik, ticker, isin, name } = item;
  const who = String(cik ?? ticker ?? isin ?? name ?? "");
  let sum = 0;
  for (const char of who) sum = (sum * 31 + char.codePointAt(0)!) % 1_000_003;
  return `filings ${sum % LANES}`;
}
