/** The index of a WACZ file: sorted lines of CDXJ in blocks that are compressed one by one, and the list of these blocks. */
import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { IndexedCapture } from "../layout.ts";
import { surtOf, timestampOf } from "../warc/surt.ts";

const LINES_IN_BLOCK = 256;

/** Numbers are texts in a line, and numbers in the list, as readers expect them. */
export function cdxjLine(capture: IndexedCapture, filename: string): string {
  const { url, date, mime, status, digest, offset, length, record_digest } = capture;
  const fields = {
    url,
    mime,
    ...(status !== null && { status: String(status) }),
    digest,
    length: String(length),
    offset: String(offset),
    filename,
    recordDigest: record_digest,
  };
  return `${surtOf(url)} ${timestampOf(date)} ${JSON.stringify(fields)}`;
}

export function indexFiles(
  captures: readonly IndexedCapture[],
  filename: string,
): { readonly cdx_gz: Buffer; readonly idx: Buffer } {
  // By bytes: readers search it so.
  const lines = captures
    .map((capture) => Buffer.from(`${cdxjLine(capture, filename)}\n`))
    .toSorted((a, b) => a.compare(b));
  const blocks: Buffer[] = [];
  const listed = [`!meta 0 ${JSON.stringify({ format: "cdxj-gzip-1.0", filename: "index.cdx.gz" })}\n`];
  let offset = 0;
  for (let at = 0; at < lines.length; at += LINES_IN_BLOCK) {
    const block = gzipSync(Buffer.concat(lines.slice(at, at + LINES_IN_BLOCK)));
    const key = lines[at]!.toString().split(" ", 2).join(" ");
    const place = { offset, length: block.length, digest: `sha256:${hash("sha256", block, "hex")}` };
    listed.push(`${key} ${JSON.stringify(place)}\n`);
    blocks.push(block);
    offset += block.length;
  }
  return { cdx_gz: Buffer.concat(blocks), idx: Buffer.from(listed.join("")) };
}
