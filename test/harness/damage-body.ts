/** Changes what a store of bodies has on the disk, behind its back: what a power cut, a disk or another program may leave. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type Change = (stored: Buffer) => Buffer;

/** The file of a body that is stored as one; it may not be there. */
export function bodyFile(folder: string, sha256: string): string {
  const plain = join(folder, sha256.slice(0, 2), sha256);
  return existsSync(plain) ? plain : `${plain}.zst`;
}

export function damageFile(folder: string, sha256: string, change: Change): void {
  const path = bodyFile(folder, sha256);
  writeFileSync(path, change(readFileSync(path)));
}

/** In the store whose small bodies are rows. */
export function damageBody(folder: string, sha256: string, change: Change): void {
  const database = new DatabaseSync(join(folder, "small.sqlite"));
  try {
    const row = database
      .prepare("SELECT id, content FROM blobs JOIN contents USING (id) WHERE sha256 = ?")
      .get(Buffer.from(sha256, "hex"));
    if (!row) return damageFile(folder, sha256, change);
    const changed = change(Buffer.from(row["content"] as Uint8Array));
    database.prepare("UPDATE contents SET content = ? WHERE id = ?").run(changed, row["id"]!);
  } finally {
    database.close();
  }
}
