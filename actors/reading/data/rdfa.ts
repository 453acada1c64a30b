/**
 * RDFa of a page (RDFa Core 1.1 §7.5, HTML+RDFa 1.1) as nodes of expanded JSON-LD, in the order in which the page names them. Left
 * out: `inlist` (its values stand like others), `rdfa:copy`, XML literals (their text is taken), terms of XHTML 1.0 in `rel`.
 */
import { soundText } from "../content/text-document.ts";
import { type AnyNode, type Element, isElement, isText } from "../dom/document.ts";
import { ofInitialContext } from "./rdfa-context.ts";

const TRIPLES_MAX = 10_000;
const CHARS_MAX = 1_000_000;
const NODES_MAX = 2_000_000;
/** Words of one attribute, and prefixes that hold for one element. */
const WORDS_MAX = 100;
const USES_VOCABULARY = "http://www.w3.org/ns/rdfa#usesVocabulary";
const TYPE = "@type";
const XML_LITERAL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral";
const XSD_STRING = "http://www.w3.org/2001/XMLSchema#string";

/** State that an element has from those around it. */
interface Context {
  readonly subject: string;
  readonly object: string;
  readonly incomplete: readonly Incomplete[];
  readonly language: string | null;
  readonly prefixes: ReadonlyMap<string, string>;
  readonly vocabulary: string | null;
}
/** A relation whose other end is named by an element inside. */
interface Incomplete {
  readonly predicate: string;
  readonly isForward: boolean;
}

type Literal = { "@value": string; "@language"?: string; "@type"?: string };
type Value = string | Literal;

interface Graph {
  readonly base: string;
  readonly nodes: Map<string, Record<string, unknown[]>>;
  readonly known: Set<string>;
  readonly room: { triples: number; chars: number; nodes: number };
  readonly names: Map<string, string>;
  blanks: number;
}

export function rdfaOf(
  root: AnyNode,
  base: string,
  warn: (warning: string) => void,
): Record<string, unknown>[] {
  const room = { triples: TRIPLES_MAX, chars: CHARS_MAX, nodes: NODES_MAX };
  const graph: Graph = { base, nodes: new Map(), known: new Set(), room, names: new Map(), blanks: 0 };
  const outside = {
    subject: base,
    object: base,
    incomplete: [],
    language: null,
    prefixes: new Map(),
    vocabulary: null,
  };
  const stack: { node: AnyNode; context: Context }[] = [{ node: root, context: outside }];
  for (let next = stack.pop(); next !== undefined && !isUsedUp(graph); next = stack.pop()) {
    const { node, context } = next;
    if (!("children" in node)) continue;
    const inner = isElement(node) ? read(node, context, graph) : context;
    for (let at = node.children.length - 1; at >= 0; at -= 1)
      stack.push({ node: node.children[at]!, context: inner });
  }
  if (isUsedUp(graph))
    warn(`structured: RDFa beyond ${TRIPLES_MAX} statements or ${CHARS_MAX} characters is left out`);
  return [...graph.nodes].map(([id, properties]) => ({ "@id": id, ...properties }));
}

const isUsedUp = ({ room: { triples, chars, nodes } }: Graph): boolean =>
  triples < 0 || chars < 0 || nodes < 0;
const ATTRIBUTES = "vocab prefix xml:lang about resource href src typeof rel rev property".split(" ");

/** Reads what an element says; returns the context of its children. */
function read(element: Element, around: Context, graph: Graph): Context {
  const { attribs } = element;
  const isSaying = element.name === "html" || ATTRIBUTES.some((name) => attribs[name] !== undefined);
  if (!isSaying && !Object.keys(attribs).some((name) => name.startsWith("xmlns:"))) return around;
  const context = withNames(element, around, graph);
  const iri = (name: "about" | "resource"): string | null => resourceOf(attribs[name], context, graph);
  const link = (name: "href" | "src"): string | null => absolute(attribs[name], graph);
  const relations = [
    ...termsIn(attribs["rel"], context).map((predicate) => ({ predicate, isForward: true })),
    ...termsIn(attribs["rev"], context).map((predicate) => ({ predicate, isForward: false })),
  ].filter(({ predicate }) => attribs["property"] === undefined || isNamed(attribs, predicate));
  const about = iri("about") ?? (element.name === "html" ? graph.base : null);
  const target = iri("resource") ?? link("href") ?? link("src");
  const isWhole = element.name === "head" || element.name === "body";
  const types = termsIn(attribs["typeof"], context);
  const isTyped = attribs["typeof"] !== undefined;
  const place = { about, target, isTyped, isWhole, context };
  const said = relations.length > 0 ? relatedPlace(place, graph) : plainPlace(element, place, graph);
  if (said.typed !== null) for (const type of types) add(said.typed, TYPE, type, graph);
  if (relations.length > 0 && said.object !== null)
    for (const relation of relations) relate(said.subject, relation, said.object, graph);
  const hasOpen = relations.length > 0 && said.object === null;
  const object = said.object ?? (hasOpen ? blank(graph) : null);
  for (const predicate of termsIn(attribs["property"], context)) {
    const value = valueOf(
      element,
      { target, typed: about === null ? said.typed : null, hasRelations: relations.length > 0 },
      context,
      graph,
    );
    add(said.subject, predicate, value, graph);
  }
  if (!said.isSkipped)
    for (const relation of around.incomplete) relate(around.subject, relation, said.subject, graph);
  if (said.isSkipped) return { ...context, subject: around.subject, object: around.object };
  return {
    ...context,
    subject: said.subject,
    object: object ?? said.subject,
    incomplete: hasOpen ? relations : [],
  };
}

interface Place {
  readonly about: string | null;
  readonly target: string | null;
  readonly isTyped: boolean;
  readonly isWhole: boolean;
  readonly context: Context;
}
interface Said {
  readonly subject: string;
  readonly object: string | null;
  /** The subject of `typeof`. */
  readonly typed: string | null;
  /** The element says nothing of its own: its children stand where it does. */
  readonly isSkipped: boolean;
}

/** With rel or rev. */
function relatedPlace({ about, target, isTyped, context }: Place, graph: Graph): Said {
  const object = target ?? (isTyped && about === null ? blank(graph) : null);
  return {
    subject: about ?? context.object,
    object,
    typed: isTyped ? (about ?? object) : null,
    isSkipped: false,
  };
}

function plainPlace(
  { attribs }: Element,
  { about, target, isTyped, isWhole, context }: Place,
  graph: Graph,
): Said {
  const hasProperty = attribs["property"] !== undefined;
  if (hasProperty && attribs["content"] === undefined && attribs["datatype"] === undefined) {
    const typed = isTyped ? (about ?? target ?? blank(graph)) : null;
    return { subject: about ?? context.object, object: typed, typed, isSkipped: false };
  }
  const named = about ?? target ?? (isWhole ? context.object : isTyped ? blank(graph) : null);
  const subject = named ?? context.object;
  return {
    subject,
    object: null,
    typed: isTyped ? subject : null,
    isSkipped: named === null && !hasProperty,
  };
}

function relate(subject: string, { predicate, isForward }: Incomplete, object: string, graph: Graph): void {
  if (isForward) add(subject, predicate, object, graph);
  else add(object, predicate, subject, graph);
}

/** Adds a statement, once. */
function add(of: string, predicate: string, about: Value, graph: Graph): void {
  const { nodes, known, room } = graph;
  const subject = nameOf(of, graph);
  const value = typeof about === "string" ? nameOf(about, graph) : about;
  const key = JSON.stringify([subject, predicate, value]);
  // Statements that are made again cost time, too.
  if ((room.nodes -= 1) < 0 || known.has(key)) return;
  if ((room.triples -= 1) < 0 || (room.chars -= key.length) < 0) return;
  known.add(key);
  const properties: Record<string, unknown[]> =
    nodes.get(subject) ?? (Object.create(null) as Record<string, unknown[]>);
  nodes.set(subject, properties);
  const shown = typeof value !== "string" || predicate === TYPE ? value : { "@id": value };
  (properties[predicate] ??= []).push(shown);
}

/** Nodes without an address are numbered as they are first named. */
function nameOf(id: string, { names }: Graph): string {
  if (!id.startsWith("_:")) return id;
  const name = names.get(id) ?? `_:${String(names.size + 1).padStart(6, "0")}`;
  names.set(id, name);
  return name;
}

const blank = (graph: Graph): string => `_:${(graph.blanks += 1)}`;

function valueOf(
  element: Element,
  { target, typed, hasRelations }: { target: string | null; typed: string | null; hasRelations: boolean },
  { language, ...context }: Context,
  graph: Graph,
): Value {
  const { content, datatype, datetime } = element.attribs;
  const written = content ?? datetime;
  const type = datatype ? (termsIn(datatype, { language, ...context })[0] ?? null) : null;
  if (datatype === undefined && written === undefined) {
    if (!hasRelations && target !== null) return target;
    if (typed !== null) return typed;
  }
  const text = soundText(written ?? textIn(element, graph));
  if (type !== null && type !== XML_LITERAL && type !== XSD_STRING) return { "@value": text, "@type": type };
  return { "@value": text, ...(language !== null && { "@language": language }) };
}

function textIn(element: Element, { room }: Graph): string {
  const parts: string[] = [];
  const stack: AnyNode[] = [element];
  for (let node = stack.pop(); node !== undefined && (room.nodes -= 1) >= 0; node = stack.pop()) {
    if (isText(node)) {
      if ((room.chars -= node.data.length) < 0) break;
      parts.push(node.data);
    } else if ("children" in node) for (const child of node.children.toReversed()) stack.push(child);
  }
  return parts.join("");
}

/** Language, prefixes and vocabulary with those that the element declares. */
function withNames({ attribs }: Element, around: Context, graph: Graph): Context {
  const { vocab, prefix = "" } = attribs;
  // As extruct has it: `lang` alone says nothing of literals.
  const language = attribs["xml:lang"];
  const vocabulary =
    vocab === undefined ? around.vocabulary : vocab.trim() === "" ? null : absolute(vocab, graph);
  if (vocab !== undefined && vocabulary !== null) add(graph.base, USES_VOCABULARY, vocabulary, graph);
  const declared = [
    ...Object.entries(attribs).flatMap(([name, uri]) =>
      name.startsWith("xmlns:") ? [[name.slice(6), uri] as const] : [],
    ),
    ...wordsIn(prefix).flatMap((word, at, words) =>
      word.endsWith(":") && at + 1 < words.length
        ? [[word.slice(0, -1).toLowerCase(), words[at + 1]!] as const]
        : [],
    ),
  ];
  graph.room.nodes -= declared.length > 0 ? WORDS_MAX : 0;
  const prefixes =
    declared.length === 0 ? around.prefixes : new Map([...around.prefixes, ...declared].slice(-WORDS_MAX));
  return {
    ...around,
    vocabulary,
    prefixes,
    language: language === undefined ? around.language : language.trim().slice(0, 35) || null,
  };
}

const wordsIn = (text = ""): string[] =>
  text
    .trim()
    .slice(0, 20_000)
    .split(/\s+/, 2 * WORDS_MAX)
    .filter((word) => word !== "");

/** TERMorCURIEorAbsIRIs: addresses; words that name nothing are left out. */
const termsIn = (text: string | undefined, context: Context): string[] =>
  wordsIn(text)
    .slice(0, WORDS_MAX)
    .flatMap((word) => termOf(word, context) ?? []);

function termOf(word: string, context: Context): string | null {
  if (word.includes(":")) return curieOf(word, context);
  return context.vocabulary === null ? ofInitialContext.term(word) : context.vocabulary + word;
}

/** An undeclared prefix is the scheme of an address. Null: no term has this form. */
function curieOf(word: string, { prefixes }: Context): string | null {
  const at = word.indexOf(":");
  const prefix = word.slice(0, at).toLowerCase();
  if (prefix === "_") return word.length > 2 ? `_:page-${word.slice(2)}` : null;
  const rest = word.slice(at + 1);
  const uri = rest.startsWith("//") ? null : (prefixes.get(prefix) ?? ofInitialContext.prefix(prefix));
  return uri === null ? (prefix === "" ? null : word) : uri + rest;
}

/** Words of rel beside property count only where they are no bare words. */
const isNamed = ({ rel = "", rev = "" }: Element["attribs"], predicate: string): boolean =>
  wordsIn(`${rel} ${rev}`).some(
    (word) => word.includes(":") && predicate.endsWith(word.slice(word.indexOf(":") + 1)),
  );

function resourceOf(text: string | undefined, context: Context, graph: Graph): string | null {
  if (text === undefined) return null;
  const word = text.trim();
  if (word.startsWith("[") && word.endsWith("]"))
    return word.length > 2 ? curieOf(word.slice(1, -1), context) : null;
  const at = word.indexOf(":");
  const prefix = word.slice(0, Math.max(at, 0)).toLowerCase();
  const isDeclared =
    prefix === "_" || context.prefixes.has(prefix) || ofInitialContext.prefix(prefix) !== null;
  return at > 0 && isDeclared ? curieOf(word, context) : absolute(word, graph);
}

const absolute = (text: string | undefined, { base }: Graph): string | null =>
  text === undefined ? null : (URL.parse(text.trim(), base)?.href ?? null);
