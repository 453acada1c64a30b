/**
 * The program of test/ports/power-cut.test.ts: stores documents and bodies without end, and prints a line for each that
 * was acknowledged. Arguments: the folder, the durability.
 */
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { sqliteBlobs } from "../../cluster/adapters/blobs/blobs.sqlite.ts";
import { sqliteDocuments } from "../../cluster/adapters/documents/documents.sqlite.ts";
import type { Durability } from "../../cluster/adapters/files/durable-files.ts";

const [folder, durability] = process.argv.slice(2) as [string, Durability];
const documents = sqliteDocuments(join(folder, "new", "documents.sqlite"), { durability });
const blobs = sqliteBlobs(join(folder, "new", "bodies"), { durability });

/** At once: what is printed was acknowledged, also when the program is killed in the next moment. */
const print = (acknowledged: object): void => void writeSync(1, `${JSON.stringify(acknowledged)}\n`);

/** Large documents, so that SQLite moves its log into the database now and then. Each is stored after an ordered one. */
async function storeDocuments(key: string): Promise<never> {
  for (let version = 0; ; version++) {
    const value = { version: version + 1, noise: randomBytes(6_000).toString("hex") };
    await documents.put("ordered", key, { version: version + 1 }, version, { ordered: true });
    await documents.put("acknowledged", key, value, version);
    print({ key, version: version + 1 });
  }
}

async function storeOrdered(key: string): Promise<never> {
  for (let version = 0; ; version++) {
    await documents.put("acknowledged", key, { version: version + 1 }, version, { ordered: true });
    await documents.synced();
    print({ key, version: version + 1 });
  }
}

async function storeBodies(content: () => Buffer): Promise<never> {
  for (;;) {
    const body = content();
    print(await blobs.put(body));
    // Again: what is there already is acknowledged, too.
    print(await blobs.put(body));
  }
}

for (let writer = 0; writer < 8; writer++) void storeDocuments(`k${writer}`);
void storeOrdered("k8");
void storeBodies(() => randomBytes(5_000));
void storeBodies(() => Buffer.from(randomBytes(4).toString("hex").repeat(2_000)));
void storeBodies(() => randomBytes(300_000));
