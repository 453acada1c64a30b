/**
 * Decodes content codings as a stream (RFC 9110 §8.4), holding one piece at a time: a decompression bomb costs only
 * what the reader reads. The reader sets the limit of bytes.
 */
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import { EgressError } from "../../ports/egress.ts";

/** Two codings are already unusual; three are treated as an attack. */
const MAX_CODINGS = 2;

/** Content codings may not use larger windows (RFC 9659), which would be held in memory. */
const MAX_ZSTD_WINDOW_LOG = 23;

/** The decoder of each coding, chosen by the first byte of the content. */
const DECODERS: Readonly<Record<string, (first_byte: number) => Transform>> = {
  gzip: () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG } }),
  // The standard says zlib format, many servers send raw deflate. The low half of a zlib header's first byte is 8.
  deflate: (first_byte) => ((first_byte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};

const ALIASES: Readonly<Record<string, string>> = { "x-gzip": "gzip" };

/** The response's codings in the order they were applied. Throws EgressError `network_encoding` when one is unknown. */
export function codingsOf(fields: readonly string[]): string[] {
  const codings = fields
    .flatMap((field) => field.split(","))
    .map((coding) => coding.trim().toLowerCase())
    .map((coding) => ALIASES[coding] ?? coding)
    .filter((coding) => coding !== "" && coding !== "identity");
  const unknown = codings.find((coding) => !Object.hasOwn(DECODERS, coding));
  if (unknown !== undefined) {
    throw new EgressError("network_encoding", `Cannot decode the content coding "${unknown.slice(0, 40)}"`);
  }
  if (codings.length > MAX_CODINGS) {
    throw new EgressError("network_encoding", `Cannot decode ${codings.length} content codings in a row`);
  }
  return codings;
}

/** The decoded content. Throws EgressError: the source's, or `network_encoding`. */
export function decodeBody(source: AsyncIterable<Buffer>, codings: readonly string[]): AsyncIterable<Buffer> {
  return codings
    .toReversed()
    .reduce<AsyncIterable<Buffer>>((coded, coding) => decodeOne(coded, coding), source);
}

async function* decodeOne(source: AsyncIterable<Buffer>, coding: string): AsyncGenerator<Buffer> {
  // Created with the first piece: an empty body (HEAD, 304) is valid under any coding.
  let decoder: Decoder | undefined;
  try {
    for await (const piece of source) {
      decoder ??= new Decoder(DECODERS[coding]!(piece[0]!));
      yield* decoder.through(piece);
      // Bytes after the end of the coded content are ignored.
      if (decoder.isDone) return;
    }
    if (decoder) yield* decoder.through(null);
  } catch (cause) {
    if (cause instanceof EgressError) throw cause;
    throw new EgressError("network_encoding", `Cannot decode the content coding "${coding}"`, { cause });
  } finally {
    decoder?.end();
  }
}

/** A zlib stream that takes the next piece only when the output of the last one has been read. */
class Decoder {
  readonly #stream: Transform;
  #problem: Error | undefined;
  #wake = () => {};

  constructor(stream: Transform) {
    this.#stream = stream;
    stream.on("readable", () => this.#wake());
    stream.on("end", () => this.#wake());
    stream.on("error", (problem: Error) => {
      this.#problem ??= problem;
      this.#wake();
    });
  }

  get isDone(): boolean {
    return this.#stream.readableEnded;
  }

  /** The output of one piece; null: the end of the content. */
  async *through(piece: Buffer | null): AsyncGenerator<Buffer> {
    let isTaken = false;
    if (piece === null) this.#stream.end();
    else {
      this.#stream.write(piece, (problem) => {
        this.#problem ??= problem ?? undefined;
        isTaken = true;
        this.#wake();
      });
    }
    while (true) {
      const plain = this.#stream.read() as Buffer | null;
      if (plain !== null) {
        yield plain;
        continue;
      }
      if (this.#problem !== undefined) throw this.#problem;
      if (isTaken || this.#stream.readableEnded) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  end(): void {
    this.#stream.destroy();
  }
}
