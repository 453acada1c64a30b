/**
 * A list of ascending numbers in few bytes: the difference of each from the one before, 7 bits a byte, the last byte of each
 * below 128 (LEB128, the varint of Protocol Buffers). Lists are appended to without being read. Pure.
 */

const MORE = 0x80;

/** The bytes that follow a list that ends with `after`; 0: those of a new list. The numbers ascend, all greater than `after`. */
export function packAfter(after: number, numbers: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  let last = after;
  for (const number of numbers) {
    let gap = number - last;
    while (gap >= MORE) {
      bytes.push((gap % MORE) | MORE);
      gap = Math.floor(gap / MORE);
    }
    bytes.push(gap);
    last = number;
  }
  return Uint8Array.from(bytes);
}

export function unpack(bytes: Uint8Array): readonly number[] {
  const numbers: number[] = [];
  let [last, gap, scale] = [0, 0, 1];
  for (const byte of bytes) {
    gap += (byte & (MORE - 1)) * scale;
    scale *= MORE;
    if (byte >= MORE) continue;
    last += gap;
    numbers.push(last);
    [gap, scale] = [0, 1];
  }
  return numbers;
}
