/** Memory that a hostile body costs the process that reads it, measured in a process of its own. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { hostileSite } from "../../../harness/hostile-site.ts";

const MAX_BYTES = 2 * 2 ** 20;
const ROOM_BYTES = 16 * 2 ** 20;
/** Two million chunks of one byte are as many small objects: the young generation fills up, and stays as it is. */
const YOUNG_BYTES = 64 * 2 ** 20;

test.each([
  // Each inflates to 32 MiB, some of them a thousandfold.
  ["/bomb-gzip", "too_large", ROOM_BYTES],
  ["/bomb-br", "too_large", ROOM_BYTES],
  ["/bomb-zstd", "too_large", ROOM_BYTES],
  ["/bomb-deflate", "too_large", ROOM_BYTES],
  ["/bomb-nested", "too_large", ROOM_BYTES],
  ["/nested-tags", "too_large", ROOM_BYTES],
  ["/endless-chunks", "too_large", ROOM_BYTES],
  ["/endless-until-close", "too_large", ROOM_BYTES],
  ["/endless-tiny-chunks", "too_large", YOUNG_BYTES],
  ["/fields-100k", "network_protocol", ROOM_BYTES],
])("%s costs no more than max_bytes and a little", async (path, reason, room_bytes) => {
  const site = await hostileSite();
  const script = new URL("memory.child.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [
    script,
    site.origin,
    String(MAX_BYTES),
    path,
  ]);
  const { end, rose_bytes } = JSON.parse(stdout);
  expect(end).toBe(reason);
  expect(rose_bytes).toBeLessThan(MAX_BYTES + room_bytes);
  await site.emptied();
  await site.close();
});
