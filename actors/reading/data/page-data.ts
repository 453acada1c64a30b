/** Data that callers want of a page beside its content, read from its elements. */
import type { DataChoice } from "../../../schemas/content.ts";
import type { PageData, StructuredData } from "../../../schemas/page-data.ts";
import { type AnyNode, type Element, elementsIn, isElement } from "../dom/document.ts";
import { extractFields, type ExtractPage } from "./extract-fields.ts";
import { jsonLdOf } from "./json-ld.ts";
import { microdataOf } from "./microdata.ts";
import { dublinCoreOf, openGraphOf } from "./open-graph.ts";
import { rdfaOf } from "./rdfa.ts";
import { tablesOf } from "./tables.ts";

/** `elements` are those of the page, `content` its content; addresses are worked out from `url` and the page's base. */
export function pageData(
  elements: readonly Element[],
  content: readonly AnyNode[],
  url: string,
  { structured, tables, extract }: DataChoice,
  page: Pick<ExtractPage, "$" | "now_ms" | "markdownOf">,
): PageData {
  const warnings: string[] = [];
  const warn = (warning: string): void => void warnings.push(warning);
  const data: Omit<PageData, "warnings"> = {
    ...(structured && { structured: structuredData(elements, url, warn) }),
    ...(tables && { tables: tablesOf(withInner(content), warn) }),
    ...(extract?.fields && {
      extract: extractFields(extract.fields, { ...page, addressOf: addressesIn(elements, url) }, warn),
    }),
  };
  return { ...data, ...(warnings.length > 0 && { warnings }) };
}

/** Without `url` addresses stay as they are, and RDFa, which is about the page, is not read. */
export function structuredData(
  elements: readonly Element[],
  url: string | null,
  warn: (warning: string) => void,
): StructuredData {
  const addressOf = url === null ? (text: string) => text.trim() : addressesIn(elements, url);
  const [root] = elements;
  return {
    "json-ld": jsonLdOf(
      elements.filter(({ name }) => name === "script"),
      warn,
    ),
    microdata: microdataOf(elements, addressOf, warn),
    opengraph: openGraphOf(elements, warn),
    rdfa: root && url !== null ? rdfaOf(root, baseOf(elements, url), warn) : [],
    dublincore: dublinCoreOf(elements, warn),
  };
}

function baseOf(elements: readonly Element[], url: string): string {
  const said = elements.find(({ name, attribs }) => name === "base" && attribs["href"] !== undefined);
  return URL.parse(said?.attribs["href"]?.trim() ?? "", url)?.href ?? url;
}

/** Works addresses of a page out; what is none stays as it is. */
function addressesIn(elements: readonly Element[], url: string): (text: string) => string {
  const base = baseOf(elements, url);
  return (text) => URL.parse(text.trim(), base)?.href ?? text.trim();
}

const withInner = (nodes: readonly AnyNode[]): Element[] =>
  nodes.flatMap((node) => [...(isElement(node) ? [node] : []), ...elementsIn(node)]);
