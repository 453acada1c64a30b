/** Databases of a suite on the shared engine of documents: one for each store that it opens, dropped when the suite has ended. */
import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { afterAll } from "vitest";
import type { Settings } from "../../ops/engines/engine.ts";

/** The address of another new database with each call. Called where a block of tests is described. */
export function mongoDatabases(engine: Settings | null): () => string {
  const addresses: string[] = [];
  afterAll(async () => {
    for (const address of addresses) {
      const client = new MongoClient(address);
      await client.db().dropDatabase();
      await client.close();
    }
  });
  return () => {
    const name = `t${randomUUID().replaceAll("-", "")}`;
    const address = engine!["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/${name}`);
    addresses.push(address);
    return address;
  };
}
