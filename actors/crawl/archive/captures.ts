/**
 * The index of what a project has archived: a document for each document of a fetch, redirects among them, in the order of address and time.
 * Resources that a page loads are in the files of archives only. Pure but for reading and writing the store.
 */
import { hash } from "node:crypto";
import type { DocumentEntry, Documents, KeyRange } from "../../../cluster/ports/documents.ts";
import type { ArchivedFetch } from "../../../schemas/archives.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import { ARCHIVE_CAPTURES, type StoredCapture } from "./collections.ts";
import { mimeOf, payloadOf } from "./warc/record.ts";
import { surtOf, timestampOf } from "./warc/surt.ts";

/** The owner of imports that serve every project. No project has this name. */
export const SERVICE = "*";
/** A longer key of an address is cut, with its digest behind it. */
const MAX_KEY_CHARS = 1_000;
const LISTED_AT_ONCE = 1_000;
/** Looked at for one answer: a filter that fits few captures gives fewer than were asked for. */
const MAX_LOOKED_AT = 50_000;

function addressKey(url: string): string {
  const key = surtOf(url);
  return key.length <= MAX_KEY_CHARS
    ? key
    : `${key.slice(0, MAX_KEY_CHARS)}…${hash("sha256", key, "hex").slice(0, 32)}`;
}

type CapturedPage = Pick<PageRecord, "final_url" | "redirects" | "body_kind" | "sha256">;

/** The documents of a fetch, not what they load. */
export function capturesOf(
  { exchanges }: ArchivedFetch,
  { final_url, redirects, body_kind, sha256 }: CapturedPage,
  archive_sha256: string,
): readonly StoredCapture[] {
  const documents = new Set([final_url, ...redirects.map(({ url }) => url)]);
  return exchanges.flatMap((exchange, at) => {
    const { url, started_at, response } = exchange;
    if (!documents.has(url)) return [];
    const payload = payloadOf(exchange);
    return {
      url,
      date: started_at,
      status: response.status,
      mime: mimeOf(response.fields),
      digest: payload === null ? "-" : `sha256:${payload.sha256}`,
      bytes: payload?.bytes ?? 0,
      archive_sha256,
      at,
      ...(url === final_url &&
        body_kind === "rendered_dom" &&
        sha256 !== null && { rendered_sha256: sha256 }),
    };
  });
}

const captureKey = (owner: string, { url, date, archive_sha256, at }: StoredCapture): string =>
  `${owner} ${addressKey(url)} ${date.replaceAll(/\D/g, "")} ${archive_sha256.slice(0, 16)}.${at}`;

/** By which the captures of an import are listed. */
const importTag = (owner: string, import_id: string): string => `import ${owner} ${import_id}`;

/** Stores a capture of an import. False: the owner has it of another file. Throws Fault. */
export async function storeImported(
  documents: Documents,
  owner: string,
  capture: StoredCapture & { readonly import_id: string },
): Promise<boolean> {
  const key = captureKey(owner, capture);
  if (await ARCHIVE_CAPTURES.put(documents, key, capture, 0, { tag: importTag(owner, capture.import_id) }))
    return true;
  // This import may have stored it before the process was killed.
  return (await ARCHIVE_CAPTURES.get(documents, key))?.import_id === capture.import_id;
}

/** The captures of an import in the order of address and time, from the n-th on. Throws Fault. */
export async function* importedCaptures(
  documents: Documents,
  owner: string,
  import_id: string,
  skip = 0,
): AsyncGenerator<DocumentEntry<StoredCapture>> {
  const tag = importTag(owner, import_id);
  let left = skip;
  for (let from: string | null = `${owner} `; from !== null;) {
    const page: readonly DocumentEntry<StoredCapture>[] = await ARCHIVE_CAPTURES.list(documents, {
      tag,
      from,
      limit: LISTED_AT_ONCE,
    });
    yield* page.slice(left);
    left = Math.max(0, left - page.length);
    from = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
  }
}

/** Stores captures that are not stored yet. Throws Fault. */
export async function storeCaptures(
  documents: Pick<Documents, "put">,
  project: string,
  captures: readonly StoredCapture[],
  expires_at_ms: number,
): Promise<void> {
  await Promise.all(
    captures.map((capture) => {
      const key = captureKey(project, capture);
      return ARCHIVE_CAPTURES.put(documents as Documents, key, capture, 0, { expires_at_ms });
    }),
  );
}

export const MATCH_TYPES = ["exact", "prefix", "host", "domain"] as const;
export type MatchType = (typeof MATCH_TYPES)[number];

/** Range of keys that begin as those of wanted addresses, and what else must be true of them. */
function rangeOf(project: string, url: string, match: MatchType) {
  const key = addressKey(url);
  const host = key.slice(0, key.indexOf(")"));
  const begins = { exact: `${key} `, prefix: key, host: `${host})`, domain: host.replace(/:\d+$/, "") }[
    match
  ];
  const isWanted = (rest: string): boolean => match !== "domain" || /^[),:]/.test(rest);
  return { from: `${project} ${begins}`, to: `${project} ${begins}\uffff`, isWanted };
}

/** Captures of the project and those that serve every project, in the order of address and time, as many as are looked at. Throws Fault. */
export async function* storedCaptures(
  documents: Documents,
  project: string,
  url: string,
  match: MatchType,
): AsyncGenerator<StoredCapture> {
  const own = capturesOfOwner(documents, project, url, match);
  const shared = capturesOfOwner(documents, SERVICE, url, match);
  let [a, b] = [await own.next(), await shared.next()];
  while (!a.done || !b.done) {
    if (b.done || (!a.done && a.value.place <= b.value.place)) {
      yield a.value!.capture;
      a = await own.next();
    } else {
      yield b.value.capture;
      b = await shared.next();
    }
  }
}

async function* capturesOfOwner(
  documents: Documents,
  owner: string,
  url: string,
  match: MatchType,
): AsyncGenerator<{ readonly place: string; readonly capture: StoredCapture }, undefined> {
  const { from, to, isWanted } = rangeOf(owner, url, match);
  let next: string | null = from;
  for (let looked = 0; next !== null && looked < MAX_LOOKED_AT; looked += LISTED_AT_ONCE) {
    const range: KeyRange = { from: next, to, limit: LISTED_AT_ONCE };
    const page = await ARCHIVE_CAPTURES.list(documents, range);
    for (const { key, value } of page)
      if (isWanted(key.slice(from.length))) yield { place: key.slice(owner.length), capture: value };
    next = page.length < LISTED_AT_ONCE ? null : `${page.at(-1)!.key}\0`;
  }
  return undefined;
}

/** The columns of the Internet Archive's index. */
export const CDX_COLUMNS = [
  "urlkey",
  "timestamp",
  "original",
  "mimetype",
  "statuscode",
  "digest",
  "length",
] as const;

export const cdxRow = ({ url, date, mime, status, digest, bytes }: StoredCapture): readonly string[] => [
  surtOf(url),
  timestampOf(date),
  url,
  mime,
  String(status),
  digest,
  String(bytes),
];
