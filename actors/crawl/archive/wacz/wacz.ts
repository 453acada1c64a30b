/**
 * A WACZ file (1.1.1): the WARC file of a job with its index, its pages and its description, as one ZIP file. The parts beside the WARC file
 * are made once and kept as bodies; the WARC file is written again each time.
 */
import { crc32 } from "node:zlib";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import type { PageRecord } from "../../../../schemas/fetch.ts";
import type { Layout, WaczEntry } from "../layout.ts";
import type { ArchiveSource } from "../warc/file.ts";
import { indexFiles } from "./index-files.ts";
import type { Unsigned, WaczSigner } from "./signer.ts";

const WARC_NAME = "archive/data.warc.gz";
const VERSION = "1.1.1";
/** More captures are not sorted in memory: there is no WACZ file then. */
export const MAX_CAPTURES = 200_000;
/** Characters of a page's text in the list of pages. */
const TEXT_CHARS = 100_000;

export type MadeEntries =
  | { readonly kind: "made"; readonly entries: readonly WaczEntry[] }
  /** More captures than MAX_CAPTURES. */
  | { readonly kind: "too_large" }
  | Unsigned;

/** Throws Fault. */
export async function makeEntries(
  { blobs, signer }: { readonly blobs: Blobs; readonly signer: WaczSigner },
  source: ArchiveSource,
  layout: Layout,
): Promise<MadeEntries> {
  const captures = layout.groups.flatMap((group) => group.captures);
  if (captures.length > MAX_CAPTURES) return { kind: "too_large" };
  const put = async (name: string, content: AsyncIterable<Buffer> | Buffer): Promise<Required<WaczEntry>> => {
    let sum = 0;
    async function* summed(): AsyncGenerator<Buffer> {
      for await (const piece of Buffer.isBuffer(content) ? [content] : content) {
        sum = crc32(piece, sum);
        yield piece;
      }
    }
    const { sha256, bytes } = await blobs.put(summed());
    return { name, sha256, bytes, crc32: sum };
  };
  const { cdx_gz, idx } = indexFiles(captures, WARC_NAME.slice("archive/".length));
  const has = new Set(layout.groups.map(({ index }) => index));
  const files = [
    await put("indexes/index.cdx.gz", cdx_gz),
    await put("indexes/index.idx", idx),
    await put("pages/pages.jsonl", pageLines(blobs, source, has)),
  ];
  const warc = { name: WARC_NAME, bytes: layout.bytes, crc32: layout.crc32 };
  // Seconds: a signature names the same moment.
  const created = `${new Date(signer.createdMs(source.date_ms)).toISOString().slice(0, 19)}Z`;
  const main = captures.find(({ is_shared }) => !is_shared);
  const description = {
    profile: "data-package",
    wacz_version: VERSION,
    title: source.title,
    created,
    software: source.software,
    ...(main && { mainPageUrl: main.url, mainPageDate: main.date }),
    resources: [{ ...warc, sha256: layout.sha256 }, ...files].map(({ name, sha256, bytes }) => ({
      name: name.slice(name.lastIndexOf("/") + 1),
      path: name,
      hash: `sha256:${sha256}`,
      bytes,
    })),
  };
  const datapackage = await put("datapackage.json", json(description));
  const hash = `sha256:${datapackage.sha256}`;
  const signed = await signer.sign({ hash, created, software: source.software });
  if (signed.kind === "unsigned") return signed;
  const digest = { path: "datapackage.json", hash, signedData: signed.data };
  const entries = [warc, ...files, datapackage, await put("datapackage-digest.json", json(digest))];
  return { kind: "made", entries };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value, null, 2));

async function* pageLines(
  blobs: Blobs,
  source: ArchiveSource,
  has: ReadonlySet<number>,
): AsyncGenerator<Buffer> {
  const head = { format: "json-pages-1.0", id: "pages", title: "Pages", hasText: true };
  yield Buffer.from(`${JSON.stringify(head)}\n`);
  for await (const { index, record } of source.pages(0)) {
    if (!has.has(index) || record.final_url === null) continue;
    const line = {
      id: record.archive!.sha256.slice(0, 22),
      url: record.final_url,
      ts: record.retrieved_at,
      title: record.title ?? record.final_url,
      text: (await textOf(blobs, record)).slice(0, TEXT_CHARS),
      size: record.bytes,
      ...(record.status !== null && { status: record.status }),
    };
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
}

async function textOf(blobs: Blobs, { text, text_sha256 }: PageRecord): Promise<string> {
  if (text !== null || text_sha256 === null) return text ?? "";
  return (await readBody(blobs, text_sha256)).toString();
}
