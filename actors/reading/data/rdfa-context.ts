/** RDFa Core Initial Context (W3C): prefixes and terms that no page need declare. */
const PREFIXES: Readonly<Record<string, string>> = {
  as: "https://www.w3.org/ns/activitystreams#",
  cc: "http://creativecommons.org/ns#",
  ctag: "http://commontag.org/ns#",
  dc: "http://purl.org/dc/terms/",
  dc11: "http://purl.org/dc/elements/1.1/",
  dcat: "http://www.w3.org/ns/dcat#",
  dcterms: "http://purl.org/dc/terms/",
  foaf: "http://xmlns.com/foaf/0.1/",
  gr: "http://purl.org/goodrelations/v1#",
  ical: "http://www.w3.org/2002/12/cal/icaltzd#",
  og: "http://ogp.me/ns#",
  org: "http://www.w3.org/ns/org#",
  owl: "http://www.w3.org/2002/07/owl#",
  prov: "http://www.w3.org/ns/prov#",
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfa: "http://www.w3.org/ns/rdfa#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  rev: "http://purl.org/stuff/rev#",
  schema: "http://schema.org/",
  sioc: "http://rdfs.org/sioc/ns#",
  skos: "http://www.w3.org/2004/02/skos/core#",
  v: "http://rdf.data-vocabulary.org/#",
  vcard: "http://www.w3.org/2006/vcard/ns#",
  void: "http://rdfs.org/ns/void#",
  xhv: "http://www.w3.org/1999/xhtml/vocab#",
  xml: "http://www.w3.org/XML/1998/namespace",
  xsd: "http://www.w3.org/2001/XMLSchema#",
};
const TERMS: Readonly<Record<string, string>> = {
  describedby: "http://www.w3.org/2007/05/powder-s#describedby",
  license: "http://www.w3.org/1999/xhtml/vocab#license",
  role: "http://www.w3.org/1999/xhtml/vocab#role",
};
const own = (table: Readonly<Record<string, string>>, name: string): string | null =>
  Object.hasOwn(table, name) ? table[name]! : null;

/** Null: there is none. */
export const ofInitialContext = {
  prefix: (name: string): string | null => own(PREFIXES, name),
  term: (word: string): string | null => own(TERMS, word.toLowerCase()),
};
