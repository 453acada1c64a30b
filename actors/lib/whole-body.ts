/** A whole body that is small; null: it has more bytes than `max_bytes`, and the rest is not read. */
export async function wholeBody(pieces: AsyncIterable<Buffer>, max_bytes: number): Promise<Buffer | null> {
  const read: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > max_bytes) return null;
    read.push(piece);
  }
  return Buffer.concat(read, bytes);
}
