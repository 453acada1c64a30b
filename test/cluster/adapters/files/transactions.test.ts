import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { transactions } from "../../../../cluster/adapters/files/transactions.sqlite.ts";

function opened() {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE pages (name TEXT PRIMARY KEY) STRICT");
  const names = () =>
    database
      .prepare("SELECT name FROM pages ORDER BY name")
      .all()
      .map((row) => row["name"]);
  const put = (name: string) => database.prepare("INSERT INTO pages VALUES (?)").run(name);
  return { database, names, put, inTransaction: transactions(database) };
}

test("a transaction gives what its work gives, and everything it wrote is stored", () => {
  const { database, names, put, inTransaction } = opened();
  const given = inTransaction(() => {
    put("a");
    put("b");
    return 2;
  });
  expect(given).toBe(2);
  expect(database.isTransaction).toBe(false);
  expect(names()).toEqual(["a", "b"]);
});

test("a transaction whose work fails leaves nothing, and the next one can be stored", () => {
  const { names, put, inTransaction } = opened();
  const problem = new Error("the row is bad");
  const failing = () =>
    inTransaction(() => {
      put("a");
      throw problem;
    });
  expect(failing).toThrow(problem);
  inTransaction(() => put("b"));
  expect(names()).toEqual(["b"]);
});

test("a statement that SQLite refuses undoes those before it", () => {
  const { names, put, inTransaction } = opened();
  put("a");
  const twice = () =>
    inTransaction(() => {
      put("b");
      put("a");
    });
  expect(twice).toThrow("UNIQUE constraint failed");
  expect(names()).toEqual(["a"]);
});

test("work that closes the file fails with its own problem", () => {
  const { database, inTransaction } = opened();
  const problem = new Error("the node stops");
  const closing = () =>
    inTransaction(() => {
      database.close();
      throw problem;
    });
  expect(closing).toThrow(problem);
});

test("a transaction holds the lock of writers before its first write", () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-transactions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [first, second] = [1, 2].map(() => new DatabaseSync(join(folder, "pages.sqlite"))) as [
    DatabaseSync,
    DatabaseSync,
  ];
  first.exec("CREATE TABLE pages (name TEXT PRIMARY KEY) STRICT");
  const write = () => second.exec("INSERT INTO pages VALUES ('b')");
  transactions(first)(() => expect(write).toThrow("database is locked"));
  write();
  first.close();
  second.close();
});
