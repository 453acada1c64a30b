/**
 * Reads a sitemap or a feed as a stream: compressed or not, XML or text, whatever its name and its Content-Type say. Memory
 * does not grow with the file (`bench/sitemap.bench.ts`); what was read before a mistake counts.
 */
import { Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import type { SitemapError } from "../../../../schemas/sites.ts";
import {
  MAX_SITEMAP_BYTES,
  MAX_SITEMAP_ENTRIES,
  type SitemapEntry,
  type SitemapKind,
  type SitemapSummary,
} from "./sitemap.ts";
import { textSitemap } from "./text-sitemap.ts";

export interface ReadOptions {
  /** Where the file was read, after redirects: addresses may be relative to it. */
  readonly url: URL;
  /** Answers whether more entries are wanted. */
  readonly onEntry: (entry: SitemapEntry) => boolean;
  /** Called before the first entry with the kind of the file. */
  readonly onKind?: (kind: SitemapKind) => void;
  /** Lets other work of the process run; awaited between pieces. */
  readonly pause: () => Promise<void>;
  /** Whether the time for this file is over. Default: it has no limit. */
  readonly isLate?: () => boolean;
  /** Default: MAX_SITEMAP_BYTES. */
  readonly max_bytes?: number;
}

type Decoder = InstanceType<typeof TextDecoder>;

/** A millisecond's work. */
const PIECE_BYTES = 64 * 1024;
/** Some servers compress what is compressed. */
const MAX_GZIP_LAYERS = 2;
const GZIP = [0x1f, 0x8b] as const;
/** Files of a site that has never heard of UTF-8 say so here. */
const DECLARED = /^[\s\uFEFF]*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})["']/i;
/** Where the declaration must be. */
const HEAD_BYTES = 512;

/** Throws what `pieces` throws. */
export async function readSitemap(
  pieces: AsyncIterable<Buffer>,
  options: ReadOptions,
): Promise<SitemapSummary> {
  const { pause, isLate = () => false, max_bytes = MAX_SITEMAP_BYTES } = options;
  const sink = await sniffing(options);
  let bytes = 0;
  let error: SitemapError | null = null;
  const broken: { sentence: string | null } = { sentence: null };
  let decoder: Decoder | null = null;
  for await (const piece of unzipped(pieces, broken)) {
    for (let at = 0; at < piece.length && error === null; at += PIECE_BYTES) {
      const part = piece.subarray(at, at + PIECE_BYTES);
      decoder ??= decoderFor(part);
      bytes += part.length;
      if (bytes > max_bytes) error = "too_large";
      else if (isLate()) error = "too_slow";
      else if (!sink.write(decoder.decode(part, { stream: true }))) return sink.summary(null, null);
      await pause();
    }
    if (error !== null) break;
  }
  if (error === null && decoder !== null) sink.write(decoder.decode());
  sink.end();
  const sentence = error === "too_large" ? `It is longer than ${max_bytes} bytes` : broken.sentence;
  return sink.summary(error ?? (broken.sentence === null ? null : "malformed"), sentence);
}

/** Chooses by the first character between XML and text. */
async function sniffing({ url, onEntry, onKind }: ReadOptions) {
  // With the first sitemap: a gateway that reads none does without the parser.
  const { xmlSitemap } = await import("./xml-sitemap.ts");
  let entries = 0;
  const count = (entry: SitemapEntry): boolean => {
    if (entries === 0) onKind?.(xml?.kind() ?? "text");
    if (!entry.is_translation) entries++;
    return onEntry(entry) && entries < MAX_SITEMAP_ENTRIES;
  };
  let xml: ReturnType<typeof xmlSitemap> | null = null;
  let text: ReturnType<typeof textSitemap> | null = null;

  function write(part: string): boolean {
    if (!xml && !text) {
      const begun = part.trimStart();
      if (begun === "") return true;
      if (begun.startsWith("<")) xml = xmlSitemap(url, count);
      else text = textSitemap(count);
      return write(begun);
    }
    return xml ? xml.write(part) : text!.write(part);
  }

  return {
    write,
    end: () => (xml ?? text)?.end(),
    summary(error: SitemapError | null, sentence: string | null): SitemapSummary {
      const own = xml ? xml.error() : text ? text.error() : "not_a_sitemap";
      const kind = xml ? xml.kind() : text && entries > 0 ? "text" : null;
      const warnings = [...(sentence === null ? [] : [sentence]), ...((xml ?? text)?.warnings() ?? [])];
      // A file that is no sitemap is not one that is too large.
      return { kind, entries, error: own === "not_a_sitemap" ? own : (error ?? own), warnings };
    },
  };
}

/** UTF-8 unless a byte order mark or the declaration says otherwise; an unknown name is UTF-8. */
function decoderFor(head: Buffer): Decoder {
  const mark = head[0] === 0xff && head[1] === 0xfe ? "utf-16le" : head[0] === 0xfe && head[1] === 0xff;
  if (mark !== false) return new TextDecoder(mark === true ? "utf-16be" : mark);
  const declared = DECLARED.exec(head.toString("latin1", 0, HEAD_BYTES))?.[1] ?? "utf-8";
  try {
    // In bytes that could be read as ASCII nothing is UTF-16, whatever they say.
    return new TextDecoder(/^utf-?16|^ucs|^iso-10646/i.test(declared) ? "utf-8" : declared);
  } catch {
    return new TextDecoder();
  }
}

/** Without the layers of gzip around it. A layer that breaks off ends the file and says so in `broken`. */
async function* unzipped(
  pieces: AsyncIterable<Buffer>,
  broken: { sentence: string | null },
  layers = 0,
): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    let head = Buffer.alloc(0);
    while (head.length < GZIP.length) {
      const next = await iterator.next();
      if (next.done) break;
      head = Buffer.concat([head, next.value]);
    }
    const whole = following(head, iterator);
    if (layers === MAX_GZIP_LAYERS || head[0] !== GZIP[0] || head[1] !== GZIP[1]) return yield* whole;
    // A file that is cut off gives all that can be read; what follows it in the stream is then missing, not wrong.
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    const source = Readable.from(whole, { objectMode: false });
    source.on("error", (problem) => gunzip.destroy(problem));
    source.pipe(gunzip);
    try {
      yield* unzipped(gunzip as AsyncIterable<Buffer>, broken, layers + 1);
    } catch (problem) {
      if (!String((problem as NodeJS.ErrnoException).code).startsWith("Z_")) throw problem;
      broken.sentence = `It cannot be decompressed: ${(problem as Error).message}`;
    } finally {
      source.destroy();
      gunzip.destroy();
    }
  } finally {
    await iterator.return?.();
  }
}

async function* following(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
