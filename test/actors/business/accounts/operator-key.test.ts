/** The operator key of the command line: who draws it, where it is kept, and what a lost file or a revoked key does. */
import { describe, expect, test } from "vitest";
import {
  digestOf,
  findGrant,
  listKeys,
  prepareAccounts,
  revokeKey,
} from "../../../../actors/business/accounts/keys.ts";
import { type KeyFile, prepareOperatorKey } from "../../../../actors/business/accounts/operator-key.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { NOON_MS } from "../../../harness/gateway-harness.ts";

function keyFile(): KeyFile & { content: string | null } {
  return {
    content: null,
    read() {
      return this.content;
    },
    write(key) {
      this.content = key;
    },
    remove() {
      this.content = null;
    },
  };
}

async function stored(): Promise<Documents> {
  const documents = memoryDocuments();
  await prepareAccounts(documents, null, NOON_MS);
  return documents;
}

const alone = (documents: Documents, file: KeyFile, named_key: string | null = null) =>
  prepareOperatorKey(documents, { named_key, file, is_shared: false }, NOON_MS);
const shared = (documents: Documents, file: KeyFile, named_key: string | null = null) =>
  prepareOperatorKey(documents, { named_key, file, is_shared: true }, NOON_MS);
const active = async (documents: Documents) =>
  (await listKeys(documents)).filter(({ role, status }) => role === "operator" && status === "active");

describe("a start", () => {
  test("draws an operator key and keeps it in the file, once", async () => {
    const documents = await stored();
    const file = keyFile();
    expect(await alone(documents, file)).toBe("kept");
    const key = file.content!;
    expect(key).toMatch(/^ok_[0-9A-Za-z]{43}$/);
    expect((await findGrant(documents, digestOf(key), 0))?.key).toMatchObject({ role: "operator" });
    expect(await alone(documents, file)).toBe("kept");
    expect([file.content, (await active(documents)).length]).toEqual([key, 1]);
  });

  test("whose file is lost draws another key and revokes the lost one", async () => {
    const documents = await stored();
    const [before, after] = [keyFile(), keyFile()];
    await alone(documents, before);
    await alone(documents, after);
    expect(await findGrant(documents, digestOf(before.content!), 0)).toBeNull();
    expect(await findGrant(documents, digestOf(after.content!), 0)).not.toBeNull();
  });

  test.each([
    [
      "an account admin's",
      async (documents: Documents) => (await prepareAccounts(documents, null, NOON_MS)).key!,
    ],
    ["an unknown one", async () => "ok_0123456789abcdefghijklm"],
    ["damaged", async () => "\u0000"],
  ])("whose file has a key that is %s draws one of its own", async (_, keyOf) => {
    const documents = memoryDocuments();
    const file = keyFile();
    file.content = await keyOf(documents);
    await prepareAccounts(documents, null, NOON_MS);
    await alone(documents, file);
    expect((await findGrant(documents, digestOf(file.content), 0))?.key.role).toBe("operator");
  });

  test("after the key was revoked draws another one, on a cluster as well", async () => {
    for (const start of [alone, shared]) {
      const documents = await stored();
      const file = keyFile();
      await start(documents, file);
      const revoked = file.content!;
      await revokeKey(documents, revoked.slice(0, 10), NOON_MS);
      await start(documents, file);
      expect(file.content).not.toBe(revoked);
      expect(await active(documents)).toHaveLength(1);
    }
  });

  test("of three nodes at once, and of later ones without a directory that lasts, keeps one key together", async () => {
    const documents = await stored();
    const files = [keyFile(), keyFile(), keyFile()];
    const kept = await Promise.all(files.map((file) => shared(documents, file)));
    expect(kept.toSorted()).toEqual(["elsewhere", "elsewhere", "kept"]);
    for (let start = 0; start < 5; start++) expect(await shared(documents, keyFile())).toBe("elsewhere");
    const keys = await active(documents);
    const kept_keys = files.flatMap(({ content }) => content ?? []);
    expect(kept_keys.map((key) => key.slice(0, 10))).toEqual(keys.map(({ prefix }) => prefix));
    expect(keys).toHaveLength(1);
  });

  test("with TRAWL_OPERATOR_KEY creates that key, finds it again, and keeps none in a file", async () => {
    const documents = await stored();
    const [file, other] = [keyFile(), keyFile()];
    const named = "ok_0123456789abcdefghij";
    expect([await shared(documents, file, named), await shared(documents, file, named)]).toEqual([
      "named",
      "named",
    ]);
    // A node that is not given the setting needs none of its own.
    expect(await shared(documents, other)).toBe("elsewhere");
    expect([file.content, other.content, (await active(documents)).length]).toEqual([null, null, 1]);
    await revokeKey(documents, named.slice(0, 10), NOON_MS);
    expect(await shared(documents, file, named)).toBe("revoked");
    await expect(shared(documents, file, "ak_0123456789abcdefghij")).rejects.toThrow('such a key is "ok_"');
  });
});
