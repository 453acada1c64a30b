/**
 * A program of test/ports/power-cut.test.ts: stores before, while and after the disk refuses to sync, and prints what
 * became of each call. Arguments: the folder, the file that makes syncs fail.
 */
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import { Fault } from "../../cluster/ports/fault.ts";

const [folder, fail_file] = process.argv.slice(2) as [string, string];
const documents = sqliteDocuments(join(folder, "documents.sqlite"), { rebuildable: ["pages"] });
const blobs = sqliteBlobs(join(folder, "bodies"));
const large = randomBytes(300_000);

const told: Record<string, string> = {};
async function tell(what: string, call: Promise<unknown>): Promise<void> {
  told[what] = await call.then(
    () => "done",
    (problem: unknown) => (problem instanceof Fault ? problem.code : String(problem)),
  );
}

await tell("put before", documents.put("jobs", "a", 1, 0));
writeFileSync(fail_file, "");
await tell("put to a cache", documents.put("pages", "a", 1, 0));
await tell("ordered put while it fails", documents.put("jobs", "o", 1, 0, { ordered: true }));
await tell("put while it fails", documents.put("jobs", "b", 1, 0));
await tell("small body while it fails", blobs.put(Buffer.from("a body")));
await tell("large body while it fails", blobs.put(large));
rmSync(fail_file);
await tell("put after", documents.put("jobs", "c", 1, 0));
await tell("synced after", documents.synced());
await tell("ping after", documents.ping());
await tell("small body after", blobs.put(Buffer.from("another body")));
await tell("large body after", blobs.put(large));
console.log(JSON.stringify(told));
process.exit(0);
