/**
 * Watches the prices of a page. Each run prints the prices as they are, and what the service has seen change since it began to
 * watch; the first run begins that. The selectors are those of the page.
 *
 *   node price-watch.ts https://example.org/lamps
 */
import { Trawl } from "@trawl/client";

const { TRAWL_URL: url = "http://127.0.0.1:8080", TRAWL_KEY: key = "" } = process.env;
const [page] = process.argv.slice(2);
if (page === undefined) throw new Error("Usage: node price-watch.ts PAGE");
const trawl = new Trawl({ url, key });
const LABEL = "price watch";

interface Offer {
  readonly name: string | null;
  readonly price: number | null;
}

const answer = await trawl.fetch(page, {
  cache_ttl_s: 0,
  include_html: false,
  extract: {
    fields: {
      offers: {
        selector: ".lamp",
        many: true,
        fields: { name: { selector: "a" }, price: { selector: ".price", type: "number", required: true } },
      },
    },
  },
});
if (answer.error !== null) throw new Error(`Cannot fetch "${page}": ${answer.error}`);
for (const { path, reason } of answer.extract?.errors ?? []) console.error(`${path}: ${reason}`);
for (const { name, price } of (answer.extract?.data?.["offers"] ?? []) as Offer[])
  console.log(`${name}: ${price}`);

const { monitors } = await trawl.monitors.list();
const known = monitors.find((monitor) => monitor.url === page && monitor.label === LABEL);
const monitor =
  known ??
  (await trawl.monitors.create(page, {
    label: LABEL,
    every_s: 3_600,
    watch: "text",
    // Only what a price is made of: other parts of the page may change.
    fetch: { include_selectors: [".lamp"] },
  }));
if (!known) console.log(`Watching every ${monitor.every_s} seconds from now on`);
if (monitor.last_check?.error) console.log(`The last visit failed: ${monitor.last_check.error}`);

for (let cursor: string | null = null; ;) {
  const { items, next_cursor } = await trawl.monitors.changes(monitor.id, cursor === null ? {} : { cursor });
  for (const { checked_at, diff } of items)
    console.log(`Changed, seen ${checked_at}:\n${diff ?? "(no diff)"}`);
  if (items.length === 0) break;
  cursor = next_cursor;
}
