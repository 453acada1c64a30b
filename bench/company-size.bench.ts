/**
 * node bench/company-size.bench.ts [--companies n]: what a company takes on disk. n companies are written by their actors into an SQLite
 * store: each has the ten claims that a LEI record has most often, with its own name, number and city. Then every company is
 * refreshed without a change, to see what that writes.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sqliteDocuments } from "../cluster/adapters/documents/documents.sqlite.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import {
  identifier,
  oneRegister,
  type ScriptedClaim,
  scriptedSource,
} from "../test/harness/companies-harness.ts";

const { values: options } = parseArgs({ options: { companies: { type: "string", default: "3000" } } });
const count = Number(options.companies);
const CITIES = ["Basel", "Bern", "Genève", "Lausanne", "Winterthur", "Zürich"];

function claimsOf(lei: string): readonly ScriptedClaim[] {
  const city = CITIES[Number(lei.slice(-1)) % CITIES.length]!;
  const address = { lines: ["Seeweg 1"], postal_code: "4000", city, country: "CH", language: "de" };
  const formatted = `Seeweg 1, 4000 ${city}, CH`;
  return [
    ["names.legal", `Alpina Maschinenbau ${lei.slice(8, 18)} AG`],
    [
      "names.former",
      { name: `Alpina Werke ${lei.slice(8, 18)}`, type: "former" },
      `alpina werke ${lei.slice(8, 18)}`,
    ],
    identifier("lei", lei),
    identifier("ch_uid", `CHE${lei.slice(-9)}`),
    ["legal_form", { elf: "3EKS", label: "Aktiengesellschaft", category: "public_limited" }],
    ["status", "active"],
    ["jurisdiction", "CH"],
    ["addresses", { type: "registered", ...address, formatted }, "registered"],
    ["addresses", { type: "headquarters", ...address, formatted }, "headquarters"],
    ["dates.registration", "2004-12-01"],
  ];
}

/** Bytes of the documents of each collection as they are written. */
function measured(documents: Documents) {
  const bytes = new Map<string, number>();
  const put: Documents["put"] = (collection, key, value, ...rest) => {
    bytes.set(collection, (bytes.get(collection) ?? 0) + JSON.stringify(value).length);
    return documents.put(collection, key, value, ...rest);
  };
  return { documents: { ...documents, put } as Documents, bytes };
}

const folder = mkdtempSync(join(tmpdir(), "company-size-"));
const path = join(folder, "documents.sqlite");
const store = sqliteDocuments(path, { durability: "process" });
const { documents, bytes } = measured(store);
const register = oneRegister(
  (now) => [scriptedSource("gleif", "lei", ({ value }) => ({ core: claimsOf(value) }), {}, now)],
  documents,
);
try {
  const leis = Array.from({ length: count }, (_, index) => {
    const first = `529900${String(index).padStart(12, "0")}`;
    const digits = `${first}00`.replaceAll(/[A-Z]/g, (char) => String(parseInt(char, 36)));
    return first + String(98n - (BigInt(digits) % 97n)).padStart(2, "0");
  });
  for (const lei of leis) await register.get(`lei:${lei}`);
  await register.feed();
  const created = new Map(bytes);
  bytes.clear();
  for (const lei of leis) await register.get(`lei:${lei}`, { refresh: true });
  const refreshed = new Map(bytes);
  await register.stop();
  await store.close();
  const perCompany = (of: ReadonlyMap<string, number>): Record<string, number> =>
    Object.fromEntries([...of].map(([name, total]) => [name, Math.round(total / count)]));
  process.stdout.write(
    `${JSON.stringify({
      companies: count,
      claims: claimsOf(leis[0]!).length,
      disk_bytes_per_company: Math.round(diskBytes() / count),
      written_by_creation: perCompany(created),
      written_by_an_unchanged_refresh: perCompany(refreshed),
    })}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

function diskBytes(): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}
