/** Bytes that come in pieces, read by length or by line. What was taken too much of is given back. */

const EMPTY = Buffer.alloc(0);

export class ByteSource {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = EMPTY;
  #isOver = false;
  /** Bytes taken so far. */
  offset = 0;

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  async #more(): Promise<boolean> {
    if (this.#isOver) return false;
    const next = await this.#pieces.next();
    if (next.done) {
      this.#isOver = true;
      return false;
    }
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    return true;
  }

  #cut(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    this.offset += taken.length;
    return taken;
  }

  /** The next bytes without taking them: fewer than asked for at the end. */
  async peek(bytes: number): Promise<Buffer> {
    while (this.#rest.length < bytes && (await this.#more()));
    return this.#rest.subarray(0, bytes);
  }

  /** Fewer than asked for at the end. */
  async take(bytes: number): Promise<Buffer> {
    await this.peek(bytes);
    return this.#cut(bytes);
  }

  /** Bytes that are there, `most` of them; null: the end. */
  async piece(most: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) if (!(await this.#more())) return null;
    return this.#cut(most);
  }

  giveBack(bytes: Buffer): void {
    this.#rest = Buffer.concat([bytes, this.#rest]);
    this.offset -= bytes.length;
  }

  /** Up to and with the line feed, as Latin-1 without its end; null: the end, or a line of more than `most` bytes. */
  async line(most: number): Promise<string | null> {
    for (let looked = 0; ;) {
      const end = this.#rest.subarray(0, most).indexOf(0x0a, looked);
      if (end >= 0)
        return this.#cut(end + 1)
          .toString("latin1")
          .replace(/\r?\n$/, "");
      looked = this.#rest.length;
      if (looked >= most) return null;
      if (await this.#more()) continue;
      return looked === 0 ? null : this.#cut(looked).toString("latin1");
    }
  }

  /** Takes everything before these bytes. False: they do not come, and all is taken. */
  async skipTo(mark: Buffer): Promise<boolean> {
    for (;;) {
      const at = this.#rest.indexOf(mark);
      if (at >= 0) {
        this.#cut(at);
        return true;
      }
      this.#cut(Math.max(0, this.#rest.length - mark.length + 1));
      if (await this.#more()) continue;
      this.#cut(this.#rest.length);
      return false;
    }
  }
}
