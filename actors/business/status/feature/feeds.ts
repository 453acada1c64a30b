/**
 * RSS 2.0 and Atom (RFC 4287) of incidents and maintenance: an entry for each update, because readers do not show an entry
 * anew when its text changes. Pure.
 */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import type { StatusIncident, StatusMaintenance } from "../../../../schemas/status.ts";
import { noticePath, sentence } from "./parts.ts";

/** Newest updates of all notices. */
const MAX_ENTRIES = 50;

interface Entry {
  readonly address: string;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly at: string;
}

function entriesOf(notices: readonly (StatusIncident | StatusMaintenance)[], base: string): readonly Entry[] {
  return notices
    .flatMap((notice) =>
      notice.updates.map(({ at, status, message }) => ({
        address: `${base}${noticePath(notice)}`,
        id: `${base}${noticePath(notice)}#${at}`,
        title: `${notice.title}: ${sentence(status)}`,
        text: message,
        at,
      })),
    )
    .toSorted((a, b) => b.at.localeCompare(a.at))
    .slice(0, MAX_ENTRIES);
}

/** XML 1.0 has no place for control characters and lone surrogates, escaped or not. */
// oxlint-disable-next-line no-control-regex
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const xml = (text: string): string => escapeHtml(text.toWellFormed().replace(NOT_XML, ""));

const TITLE = "Incidents and maintenance of Trawl";

export function atomFeed(
  notices: readonly (StatusIncident | StatusMaintenance)[],
  base: string,
  now: string,
): string {
  const entries = entriesOf(notices, base);
  const parts = entries.map(
    ({ address, id, title, text, at }) =>
      `<entry><id>${xml(id)}</id><title>${xml(title)}</title><link href="${xml(address)}"/><updated>${at}</updated><content type="text">${xml(text)}</content></entry>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${xml(base)}/status</id><title>${TITLE}</title><author><name>Trawl</name></author><link href="${xml(base)}/status"/><link rel="self" href="${xml(base)}/status/atom.xml"/><updated>${entries[0]?.at ?? now}</updated>
${parts.join("\n")}
</feed>
`;
}

export function rssFeed(notices: readonly (StatusIncident | StatusMaintenance)[], base: string): string {
  const parts = entriesOf(notices, base).map(
    ({ address, id, title, text, at }) =>
      `<item><guid isPermaLink="false">${xml(id)}</guid><title>${xml(title)}</title><link>${xml(address)}</link><pubDate>${new Date(at).toUTCString()}</pubDate><description>${xml(text)}</description></item>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>${TITLE}</title><link>${xml(base)}/status</link><description>What the operator announced</description>
${parts.join("\n")}
</channel></rss>
`;
}
