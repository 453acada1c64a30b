/** Documents of the profile site, read in reader processes (cluster/ports/workers.ts): their bytes may be hostile. */
import { charsetOf } from "../../../reading/content/charset.ts";
import { decodeText } from "../../../reading/content/decode-text.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { type PageReading, readPage } from "../read-page.ts";
import type { ReadOrder } from "../site-run.ts";

export const tasks = {
  profile: async () => async (order: ReadOrder) => readDocument(order),
};

function readDocument({ provider, kind, bytes, content_type, url }: ReadOrder): PageReading {
  const known = PROVIDERS.find(({ name }) => name === provider);
  if (!known) throw new TypeError(`Cannot read a page of "${provider}": there is no such provider`);
  const isData = kind === "suggest" || kind === "graph";
  const charset = charsetOf({ bytes, content_type, kind: isData ? "json" : "html" }) ?? "UTF-8";
  return readPage(known, { kind, url, text: decodeText(bytes, charset) });
}
