/** The API documents of a service: of clients, of operators, of the pages for people. */

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, any>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, any>> } & Readonly<Record<string, any>>;
  readonly [field: string]: any;
}
type ReadDocument = (path: string) => Promise<{ readonly json: any }>;

export const API_DOCUMENTS = ["/openapi.json", "/openapi-operator.json", "/openapi-pages.json"] as const;

/** The operations of all of them, as one. */
export async function wholeApi(read: ReadDocument): Promise<ApiDocument> {
  const documents = await Promise.all(
    API_DOCUMENTS.map(async (path) => (await read(path)).json as ApiDocument),
  );
  const [clients] = documents as [ApiDocument];
  const paths: Record<string, Record<string, unknown>> = {};
  for (const document of documents)
    for (const [path, methods] of Object.entries(document.paths))
      paths[path] = { ...paths[path], ...methods };
  const schemas = Object.assign({}, ...documents.map(({ components }) => components.schemas));
  return { ...clients, paths, components: { ...clients.components, schemas } };
}
