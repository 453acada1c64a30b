/** What was used this month: by day and category as bars, the same as a table, and what is left of limits. */
import { html, once, Problem, Table, useLive } from "./console-parts.js";
import { ask } from "./console-service.js";

const HEIGHT = 160;
const COLUMNS = [
  ["Day", ({ day }) => day],
  ["Category", ({ category }) => category],
  ["Requests", ({ requests }) => requests, true],
  ["Succeeded", ({ succeeded }) => succeeded, true],
  ["Bytes", ({ bytes }) => bytes, true],
  ["Cost in USD", ({ cost_usd }) => cost_usd ?? "", true],
];

/** One bar a day, a part for each category; they differ by colour, and the table below says the same in numbers. */
function Chart({ rows, totals }) {
  const days = [...Map.groupBy(rows, ({ day }) => day)].toSorted(([a], [b]) => a.localeCompare(b));
  const categories = [...new Set(rows.map(({ category }) => category))].toSorted((a, b) =>
    a.localeCompare(b),
  );
  const highest = Math.max(
    1,
    ...days.map(([, of_day]) => of_day.reduce((sum, { requests }) => sum + requests, 0)),
  );
  const width = 1000 / Math.max(31, days.length);
  const bars = days.flatMap(([day, of_day], at) => {
    let top = HEIGHT;
    return of_day.map(({ category, requests }) => {
      const height = (requests / highest) * HEIGHT;
      top -= height;
      const part = categories.indexOf(category) % 6;
      return html`<rect class=${`part${part}`} x=${at * width} y=${top} width=${width * 0.8} height=${height}
        ><title>${day}, ${category}: ${requests}</title></rect
      >`;
    });
  });
  return html`<figure>
    <figcaption>
      ${`${totals.requests} requests on ${days.length} ${days.length === 1 ? "day" : "days"}, ${totals.succeeded} of them succeeded; at most ${highest} on one day`}
    </figcaption>
    <svg
      viewBox=${`0 0 1000 ${HEIGHT}`}
      role="img"
      aria-label="Requests by day and category; the table below has the same figures"
    >
      ${bars}
    </svg>
    <ul class="legend">
      ${categories.map(
        (category, at) =>
          html`<li>
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <rect class=${`part${at % 6}`} width="12" height="12" />
            </svg>
            ${category}
          </li>`,
      )}
    </ul>
  </figure>`;
}

const LIMITS = [
  ["Key", ({ prefix }) => prefix],
  ["Label", ({ label }) => label ?? ""],
  ["Fetches", ({ requests }) => limitOf(requests.fetch), true],
  ["Searches", ({ requests }) => limitOf(requests.search), true],
  [
    "Spend",
    ({ spend }) =>
      `${spend.used ?? "–"}${spend.limit === null ? "" : ` of ${spend.limit}`} ${spend.currency}`,
    true,
  ],
];
const limitOf = ({ used, limit }) => (limit === null ? used : `${used} of ${limit}`);

export function Usage() {
  const { value, problem } = useLive(
    async () => ({
      usage: await ask("GET", "/v1/usage?group_by=day,category"),
      quota: await ask("GET", "/v1/quota"),
    }),
    [],
    once,
  );
  if (value === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  const { usage, quota } = value;
  return html`<p>
      From ${usage.period.since} until ${usage.period.until}, in UTC, of${" "}
      ${quota.role === "standard" ? "this key" : "the whole account"}.
    </p>
    ${usage.rows.length > 0 && html`<${Chart} ...${usage} />`}
    <${Table}
      caption="Usage by day and category"
      columns=${COLUMNS}
      rows=${usage.rows}
      empty="Nothing was used in this month."
    />
    <h2>Limits of keys in ${quota.period}</h2>
    <${Table} caption="What is used of the keys' monthly limits" columns=${LIMITS} rows=${quota.keys} />`;
}
