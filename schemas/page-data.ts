/** Data that a page holds, in the forms of an answer: structured data as it was marked up, and tables. */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable } from "./common.ts";
import type { Extraction } from "./extract.ts";

const AnyObject = Type.Record(Type.String(), Type.Unknown());

/** As extruct has it: a property with one value has it alone, with several an array. */
export const MicrodataItem = Component("MicrodataItem", {
  type: Type.Optional(
    Field(
      Type.Union([Type.String(), Type.Array(Type.String())]),
      "Its type; several as an array",
      "https://schema.org/Product",
    ),
  ),
  id: Type.Optional(Field(Type.String(), "Its `itemid`", "urn:isbn:0-330-34032-8")),
  properties: Type.Optional(
    Field(AnyObject, "By name: a text, an item, or an array of them", { name: "Storm lamp" }),
  ),
  value: Type.Optional(Field(Type.String(), "The text of an item without properties", "Storm lamp")),
});
export type MicrodataItem = Static<typeof MicrodataItem>;

export const OpenGraph = Component("OpenGraph", {
  namespace: Field(Type.Record(Type.String(), Type.String()), "The address of each prefix", {
    og: "http://ogp.me/ns#",
  }),
  properties: Field(
    Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 })),
    "Names and values in the page's order; a name may come again",
    [["og:title", "Storm lamp"]],
  ),
});
export interface OpenGraph {
  readonly namespace: Record<string, string>;
  readonly properties: [name: string, value: string][];
}

const DublinCoreValue = Type.Record(Type.String(), Type.String());
export const DublinCore = Component("DublinCore", {
  namespaces: Field(Type.Record(Type.String(), Type.String()), "The address of each prefix", {
    DC: "http://purl.org/dc/elements/1.1/",
  }),
  elements: Field(Type.Array(DublinCoreValue), "Elements: the attributes of each, and its `URI`", [
    { name: "DC.title", content: "Storm lamp", URI: "http://purl.org/dc/elements/1.1/title" },
  ]),
  terms: Field(Type.Array(DublinCoreValue), "Terms, in the same form", [
    { name: "DCTERMS.issued", content: "2026-03-04", URI: "http://purl.org/dc/terms/issued" },
  ]),
});
export type DublinCore = Static<typeof DublinCore>;

/** The names and forms of extruct's answers. */
export const StructuredData = Component("StructuredData", {
  "json-ld": Field(Type.Array(Type.Unknown()), "JSON-LD: each object of each block, as the page has it", [
    { "@type": "Product", name: "Storm lamp" },
  ]),
  microdata: Field(Type.Array(MicrodataItem), "Microdata: the items that are in no other item"),
  opengraph: Field(Type.Array(OpenGraph), "Open Graph: one entry, or none"),
  rdfa: Field(Type.Array(AnyObject), "RDFa: the nodes of its statements, as expanded JSON-LD", [
    { "@id": "https://example.org/", "http://ogp.me/ns#title": [{ "@value": "Storm lamp" }] },
  ]),
  dublincore: Field(Type.Array(DublinCore), "Dublin Core: one entry, or none"),
});
export interface StructuredData {
  readonly "json-ld": unknown[];
  readonly microdata: MicrodataItem[];
  readonly opengraph: OpenGraph[];
  readonly rdfa: Record<string, unknown>[];
  readonly dublincore: DublinCore[];
}

export const TableSpan = Component("TableSpan", {
  row: Field(Type.Integer(), "Its first row in `rows`, from 0", 2),
  column: Field(Type.Integer(), "Its first column, from 0", 0),
  rows: Field(Type.Integer(), "How many rows it covers", 2),
  columns: Field(Type.Integer(), "How many columns it covers", 1),
});

export const PageTable = Component("PageTable", {
  parent: Field(Nullable(Type.Integer()), "The table it stands in, as its place in `tables`, from 0", 0),
  caption: Field(Nullable(Type.String()), "Its caption", "Fares"),
  headers: Field(
    Type.Array(Type.String()),
    "The name of each column; several rows of headers are joined by ` / `, a name that comes again ends in ` (2)`; empty: it has no headers",
    ["Season", "Adult"],
  ),
  rows: Field(
    Type.Array(Type.Array(Type.String())),
    "The texts of its cells, rows of equal length; a cell that covers several places is in each of them",
    [["Summer", "4.20"]],
  ),
  spans: Field(Type.Array(TableSpan), "Cells of `rows` that cover several places"),
  truncated: Field(Type.Boolean(), "It goes on beyond a limit, which `warnings` names", false),
});
export type PageTable = Static<typeof PageTable>;

export const PageComment = Component("PageComment", {
  author: Field(Nullable(Type.String()), "The name it stands under; null: none", "Ada Berg"),
  published_at: Field(
    Nullable(Type.String()),
    "ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year; null: none, or one that counts from now",
    "2026-03-04T05:06:07",
  ),
  text: Field(Type.String(), "What it says, a paragraph a line", "The tower was lit in 1998, too."),
});
export type PageComment = Static<typeof PageComment>;

/** Data that is read of a page beside its content, as far as it was wanted. */
export interface PageData {
  readonly structured?: StructuredData;
  readonly tables?: PageTable[];
  readonly comments?: PageComment[];
  readonly extract?: Extraction;
  /** Sentences: what could not be read, and what is beyond a limit. */
  readonly warnings?: string[];
}
