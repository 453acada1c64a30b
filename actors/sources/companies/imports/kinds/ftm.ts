/**
 * FollowTheMoney entities of OpenSanctions: a JSON document a line, or in a delta `{op, entity}`. Companies and other organisations are imported; natural
 * persons are skipped, and so are the entities that say who owns or directs whom.
 */
import type { Json } from "../../claim.ts";
import { FtmEntity, ftmGroups, nameOf, openSanctions } from "../../sources/opensanctions.ts";
import { identifierReferences } from "../identifier-references.ts";
import { type JsonKind, KEY_SEPARATOR, type ReadRecord, type Tuple } from "../import-kind.ts";
import { documentOf, documentReader } from "./json-record.ts";

const COMPANIES: ReadonlySet<unknown> = new Set(["Company", "Organization", "LegalEntity", "PublicBody"]);

type Parts = { readonly [name: string]: Json };
const isObject = (value: Json | undefined): value is Parts =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const readEntity = documentReader(FtmEntity, "id", ({ id }) => (id.includes(KEY_SEPARATOR) ? null : id));

function read(record: Json): ReadRecord {
  if (!isObject(record)) return { kind: "bad", reason: "shape" };
  const { op, entity = record } = record;
  if (!isObject(entity)) return { kind: "bad", reason: "shape" };
  const { id, schema } = entity;
  if (op === "DEL")
    return typeof id === "string" ? { kind: "closed", key: id } : { kind: "bad", reason: "id" };
  if (typeof schema !== "string") return { kind: "bad", reason: "schema" };
  if (!COMPANIES.has(schema)) return { kind: "skipped" };
  const row = readEntity(entity);
  if (row.kind === "row" && nameOf(documentOf(row.tuple) as FtmEntity) === null)
    return { kind: "bad", reason: "name" };
  return row;
}

export const ftmEntities: JsonKind = {
  name: "ftm",
  layout: 1,
  source: openSanctions.description.name,
  title: "OpenSanctions: FollowTheMoney entities (entities.ftm.json)",
  format: "json",
  absence: "closed",
  licence: openSanctions.description.licence,
  needs_consent: true,
  referencesOf: (_, tuple) =>
    identifierReferences(
      ftmGroups({ sha256: "" } as never, documentOf(tuple) as FtmEntity).flatMap(({ claims }) => claims),
    ),
  isChange: (before: Tuple, after: Tuple) => JSON.stringify(before) !== JSON.stringify(after),
  read,
};
