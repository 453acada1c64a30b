/** The first bytes of a body, at most `count`; what comes after them is not read. */
export async function firstBytes(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  count: number,
): Promise<Buffer> {
  const read: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    read.push(piece);
    bytes += piece.length;
    if (bytes >= count) break;
  }
  return Buffer.concat(read).subarray(0, count);
}
