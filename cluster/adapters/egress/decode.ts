/**
 * Undoes content codings piece by piece (RFC 9110, 8.4): never more than a piece is held, so that a bomb costs its
 * reader what it reads and no more. How many bytes are too many is the reader's to say.
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

/** gzip within br is already more than anyone needs; a third coding is an attack. */
const MAX_CODINGS = 2;

/** A window above 8 MiB is not allowed in a content coding (RFC 9659), and would be held in memory. */
const MAX_ZSTD_WINDOW_LOG = 23;

/** What each coding is undone with, told the first byte that came. */
const DECODERS: Readonly<Record<string, (first_byte: number) => Transform>> = {
  gzip: () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG } }),
  // Meant is the zlib format; half the world sends the bare stream. The low half of a zlib header is 8.
  deflate: (first_byte) => ((first_byte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};

const ALIASES: Readonly<Record<string, string>> = { "x-gzip": "gzip" };

/** The codings of an answer in the order they were applied; EgressError `network_encoding` when they are none of ours. */
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

/** The content without its codings. Throws EgressError: its source's, or `network_encoding`. */
export function decodeBody(source: AsyncIterable<Buffer>, codings: readonly string[]): AsyncIterable<Buffer> {
  return codings
    .toReversed()
    .reduce<AsyncIterable<Buffer>>((coded, coding) => decodeOne(coded, coding), source);
}

async function* decodeOne(source: AsyncIterable<Buffer>, coding: string): AsyncGenerator<Buffer> {
  // Made of the first piece: nothing at all under a coding is nothing (HEAD, a 304, an empty page).
  let decoder: Decoder | undefined;
  try {
    for await (const piece of source) {
      decoder ??= new Decoder(DECODERS[coding]!(piece[0]!));
      yield* decoder.through(piece);
      // The coding says where it ends; what follows it is nobody's.
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

/** A zlib stream driven by hand: it gets the next piece when everything of the last one has been taken. */
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

  /** What one piece comes to; null says that there are no more. */
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
