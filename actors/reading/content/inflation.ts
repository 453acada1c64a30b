/**
 * Limits what pdf.js inflates, which has no limit of its own: a stream of a few kilobytes, packed twice, is gigabytes of
 * spaces. Each of its decoders allocates through the global Uint8Array, or reads from a DecompressionStream, so both are
 * counted while a document is read. This is for a process that reads one document at a time.
 */

export interface InflationLimits {
  /** The limit of one stream of the document. A buffer that grows doubles, so a stream of half of it may be the largest. */
  readonly stream_bytes: number;
  /** The limit of everything that is allocated for the document. */
  readonly total_bytes: number;
}

const MB = 2 ** 20;
/** A page of text is less than 1 MB, the largest fonts are 30 MB. */
export const INFLATION_LIMITS: InflationLimits = { stream_bytes: 64 * MB, total_bytes: 2_048 * MB };
/** After a limit was met the document is given up: only small arrays are allocated. */
const AFTERWARDS_BYTES = 65_536;

export interface Inflation extends Disposable {
  /** The limit that was met, as a sentence continues: "a stream that inflates to more than 64 MB"; null: none. */
  readonly met: () => string | null;
}

/** Counts until it is disposed of. `document_bytes` are added to both limits: a copy of the document is no stream. */
export function limitInflation(
  document_bytes: number,
  { stream_bytes, total_bytes }: InflationLimits = INFLATION_LIMITS,
): Inflation {
  const { Uint8Array: Bytes, DecompressionStream: Decompression } = globalThis;
  let total = 0;
  let met: string | null = null;
  const account = (bytes: number, stream: number): void => {
    total += bytes;
    if (met === null && stream > stream_bytes + document_bytes)
      met = `a stream that inflates to more than ${stream_bytes / MB} MB`;
    if (met === null && total > total_bytes + document_bytes)
      met = `streams that inflate to more than ${total_bytes / MB} MB together`;
    if (met !== null && bytes > AFTERWARDS_BYTES) throw new RangeError(`Cannot inflate: the PDF has ${met}`);
  };

  globalThis.Uint8Array = new Proxy(Bytes, {
    construct(target, args: unknown[], made) {
      const [length] = args;
      if (typeof length === "number") account(length, length);
      return Reflect.construct(target, args, made === globalThis.Uint8Array ? target : made) as object;
    },
  });
  globalThis.DecompressionStream = class implements DecompressionStream {
    readonly readable: DecompressionStream["readable"];
    readonly writable: DecompressionStream["writable"];
    constructor(format: ConstructorParameters<typeof Decompression>[0]) {
      const native = new Decompression(format);
      let stream = 0;
      const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          stream += chunk.byteLength;
          account(chunk.byteLength, stream);
          if (met !== null) throw new RangeError(`Cannot inflate: the PDF has ${met}`);
          controller.enqueue(chunk);
        },
      });
      this.writable = native.writable;
      this.readable = native.readable.pipeThrough(counted);
    }
  };
  return {
    met: () => met,
    [Symbol.dispose]() {
      globalThis.Uint8Array = Bytes;
      globalThis.DecompressionStream = Decompression;
    },
  };
}
