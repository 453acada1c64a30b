/** Metadata in the head of a page, by `meta` and `link`: Open Graph (ogp.me) and Dublin Core, in the form of extruct. */
import type { DublinCore, OpenGraph } from "../../../schemas/page-data.ts";
import type { Element } from "../dom/document.ts";

const PROPERTIES_MAX = 1_000;
const CHARS_MAX = 200_000;
const PREFIX_CHARS_MAX = 10_000;

const OWN: ReadonlySet<string> = new Set("og music video article book profile product".split(" "));
const ownNamespace = (prefix: string): string =>
  prefix === "og" ? "http://ogp.me/ns#" : `http://ogp.me/ns/${prefix}#`;

type Warn = (warning: string) => void;

/** Namespaces are declared by `prefix` of html or head; those of Open Graph itself need no declaration. */
export function openGraphOf(elements: readonly Element[], warn: Warn): OpenGraph[] {
  const namespaces = new Map(
    elements.filter(({ name }) => name === "html" || name === "head").flatMap(declared),
  );
  const namespace: Record<string, string> = Object.fromEntries(namespaces);
  const properties: [string, string][] = [];
  const room = { chars: CHARS_MAX };
  for (const { name, parent, attribs } of elements) {
    const { property = "", content = "" } = attribs;
    if (name !== "meta" || property === "" || content === "") continue;
    if (!(parent && "name" in parent && parent.name === "head")) continue;
    const prefix = property.split(":", 1)[0]!;
    const uri = OWN.has(prefix) ? ownNamespace(prefix) : namespaces.get(prefix);
    if (uri === undefined) continue;
    if (!fits(properties.length, room, content)) {
      warn(
        `structured: Open Graph beyond ${PROPERTIES_MAX} properties or ${CHARS_MAX} characters is left out`,
      );
      break;
    }
    namespace[prefix] = uri;
    properties.push([property, content]);
  }
  return properties.length > 0 ? [{ namespace, properties }] : [];
}

/** `og: https://ogp.me/ns# fb: https://ogp.me/ns/fb#`; of a name in parts extruct takes the last. */
function declared({ attribs: { prefix = "" } }: Element): (readonly [string, string])[] {
  const words = prefix.slice(0, PREFIX_CHARS_MAX).split(/\s+/);
  return words.flatMap((word, at) => {
    const name = word.endsWith(":") ? word.slice(0, -1).split(/\W/).at(-1)! : "";
    const uri = words[at + 1];
    return name && uri ? [[name, uri] as const] : [];
  });
}

function fits(count: number, room: { chars: number }, content: string): boolean {
  room.chars -= content.length;
  return count < PROPERTIES_MAX && room.chars >= 0;
}

const ELEMENTS = "http://purl.org/dc/elements/1.1/";
const TERMS = "http://purl.org/dc/terms/";
const ELEMENT_NAMES: ReadonlySet<string> = new Set(
  (
    "contributor coverage creator date description format identifier language publisher relation rights source subject title " +
    "type"
  ).split(" "),
);
const TERM_NAMES: ReadonlySet<string> = new Set(
  (
    "abstract accessrights accrualmethod accrualperiodicity accrualpolicy alternative audience available bibliographiccitation " +
    "conformsto created dateaccepted datecopyrighted datesubmitted educationlevel extent hasformat haspart hasversion " +
    "instructionalmethod isformatof ispartof isreferencedby isreplacedby isrequiredby issued isversionof license mediator medium " +
    "modified provenance references replaces requires rightsholder spatial tableofcontents temporal valid"
  ).split(" "),
);

export function dublinCoreOf(elements: readonly Element[], warn: Warn): DublinCore[] {
  const found: DublinCore = { namespaces: {}, elements: [], terms: [] };
  const room = { chars: CHARS_MAX };
  const named = ["meta", "link"].flatMap((kind) => elements.filter(({ name }) => name === kind));
  for (const { name, attribs } of named) {
    const said = (name === "meta" ? attribs["name"] : attribs["rel"]) ?? "";
    if (said.startsWith("schema.") && attribs["href"]) found.namespaces[said.slice(7)] = attribs["href"];
    const last = said.slice(said.lastIndexOf(".") + 1).toLowerCase();
    const isElement = ELEMENT_NAMES.has(last);
    if (!isElement && !TERM_NAMES.has(last)) continue;
    if (!fits(found.elements.length + found.terms.length, room, Object.values(attribs).join(""))) {
      warn(
        `structured: Dublin Core beyond ${PROPERTIES_MAX} elements or ${CHARS_MAX} characters is left out`,
      );
      break;
    }
    const URI = `${isElement ? ELEMENTS : TERMS}${last}`;
    (isElement ? found.elements : found.terms).push({ ...attribs, URI });
  }
  return found.elements.length + found.terms.length > 0 ? [found] : [];
}
