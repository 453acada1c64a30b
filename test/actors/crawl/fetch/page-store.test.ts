/** Writes of a page's store for the bodies that it is given. */
import { expect, test } from "vitest";
import { pageStore } from "../../../../actors/crawl/fetch/page-store.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { decodeReply, encodeReply, MAX_INLINE_BYTES } from "../../../../cluster/role-wire.ts";

test.each([
  ["inline", MAX_INLINE_BYTES, 1],
  ["through the body store", MAX_INLINE_BYTES + 1, 0],
])("a body that came from another node %s (%i bytes) is stored %i times more", async (_, bytes, writes) => {
  const memory = memoryBlobs();
  const stored: number[] = [];
  const blobs: Blobs = {
    ...memory,
    put(content) {
      stored.push((content as Buffer).length);
      return memory.put(content);
    },
  };
  const sent = await encodeReply({ kind: "page", body: Buffer.alloc(bytes, "x") }, memory);
  const { body } = (await decodeReply(JSON.parse(JSON.stringify(sent)), memory)) as { readonly body: Buffer };
  const store = pageStore({ clock: virtualClock(0), documents: memoryDocuments(), blobs });
  await store.putBodies([body, body]);
  expect(stored).toEqual(Array.from({ length: writes }, () => bytes));
  // Equal bytes of a page of this node are stored.
  await store.putBody(Buffer.alloc(bytes, "x"));
  expect(stored).toHaveLength(writes + 1);
});
