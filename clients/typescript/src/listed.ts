/** Answers that are lists: awaited they are the first page, iterated they are the entries of all pages. */

export interface Listed<Page, Entry> extends Promise<Page>, AsyncIterable<Entry> {}

export function listed<Page extends { readonly next_cursor?: string | number | null }, Entry>(
  read: (cursor: Page["next_cursor"] | undefined) => Promise<Page>,
  entriesOf: (page: Page) => readonly Entry[],
): Listed<Page, Entry> {
  const first = read(undefined);
  async function* entries(): AsyncGenerator<Entry> {
    let page = await first;
    for (;;) {
      yield* entriesOf(page);
      if (page.next_cursor === null || page.next_cursor === undefined) return;
      page = await read(page.next_cursor);
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: entries });
}
