/** What was used this month: by day and category, project or key as bars, the same as a table, and what is left of limits. */
import { useState } from "./preact-hooks.js";
import { Choice, html, once, Problem, Table, useLive } from "./console-parts.js";
import { ask } from "./console-service.js";

const HEIGHT = 160;
const COLOURS = 6;
const GROUPS = [
  ["category", "category"],
  ["project", "project"],
  ["key", "key"],
];
const number = (text) => Number(text ?? 0);
const amount = (sum) => sum.toFixed(2);
/** What a bar is high by: [title, of a row, as text]. */
const MEASURES = {
  requests: ["Requests", ({ requests }) => requests, String],
  bytes: ["Bytes", ({ bytes }) => bytes, String],
  cost: ["Cost in USD", ({ cost_usd }) => number(cost_usd), amount],
};
const columnsOf = (group) => [
  ["Day", ({ day }) => day],
  [`${group[0].toUpperCase()}${group.slice(1)}`, (row) => row[group]],
  ["Requests", ({ requests }) => requests, true],
  ["Succeeded", ({ succeeded }) => succeeded, true],
  ["Bytes", ({ bytes }) => bytes, true],
  ["Cost in USD", ({ cost_usd }) => cost_usd ?? "", true],
];

/** One bar a day, a part for each group; they differ by colour, and the table below says the same in numbers. */
function Chart({ rows, group, measure }) {
  const [title, valueOf, textOf] = MEASURES[measure];
  const sumOf = (some) => some.reduce((sum, row) => sum + valueOf(row), 0);
  const days = [...Map.groupBy(rows, ({ day }) => day)].toSorted(([a], [b]) => a.localeCompare(b));
  // The largest first: behind the colours that there are, all have the last one.
  const names = [...Map.groupBy(rows, (row) => row[group])]
    .toSorted(([a, of_a], [b, of_b]) => sumOf(of_b) - sumOf(of_a) || a.localeCompare(b))
    .map(([name]) => name);
  const partOf = (name) => Math.min(names.indexOf(name), COLOURS - 1);
  const most = Math.max(...days.map(([, of_day]) => sumOf(of_day)));
  const highest = most || 1;
  const width = 1000 / Math.max(31, days.length);
  const bars = days.flatMap(([day, of_day], at) => {
    let top = HEIGHT;
    return of_day.map((row) => {
      const height = (valueOf(row) / highest) * HEIGHT;
      top -= height;
      return html`<rect
        class=${`part${partOf(row[group])}`}
        x=${at * width}
        y=${top}
        width=${width * 0.8}
        height=${height}
        ><title>${day}, ${row[group]}: ${textOf(valueOf(row))}</title></rect
      >`;
    });
  });
  return html`<figure>
    <figcaption>
      ${`${title}: ${textOf(sumOf(rows))} on ${days.length} ${days.length === 1 ? "day" : "days"}, at most ${textOf(most)} on one day; ${group === "category" ? "categories" : `${group}s`}: ${names.length}`}
    </figcaption>
    <svg
      viewBox=${`0 0 1000 ${HEIGHT}`}
      role="img"
      aria-label=${`${title} by day and ${group}; the table below has the same figures`}
    >
      ${bars}
    </svg>
    <ul class="legend">
      ${names.slice(0, COLOURS).map((name, at) => {
        const isRest = at === COLOURS - 1 && names.length > COLOURS;
        return html`<li>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <rect class=${`part${at}`} width="12" height="12" />
          </svg>
          ${isRest ? `${names.length - at} others` : name}
        </li>`;
      })}
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

export function Usage({ role }) {
  const [group, setGroup] = useState("category");
  const [measure, setMeasure] = useState("requests");
  const { value, problem } = useLive(
    async () => ({
      group,
      usage: await ask("GET", `/v1/usage?group_by=day,${group}`),
      quota: await ask("GET", "/v1/quota"),
    }),
    [group],
    once,
  );
  if (value === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  const { usage, quota } = value;
  const measures = Object.entries(MEASURES)
    .filter(([name]) => name !== "cost" || usage.totals.cost_usd !== null)
    .map(([name, [title]]) => [name, title]);
  const choose =
    (set) =>
    ({ currentTarget }) =>
      set(currentTarget.value);
  return html`<p>
      From ${usage.period.since} until ${usage.period.until}, in UTC, of${" "}
      ${quota.role === "standard" ? "this key" : "the whole account"}.
    </p>
    <${Problem} text=${problem} />
    <p class="row">
      <${Choice}
        label="Show"
        name="measure"
        options=${measures}
        value=${measure}
        onChange=${choose(setMeasure)}
      />
      ${
        role !== "standard" &&
        html`<${Choice}
          label="By day and"
          name="group"
          options=${GROUPS}
          value=${group}
          onChange=${choose(setGroup)}
        />`
      }
    </p>
    ${usage.rows.length > 0 && html`<${Chart} rows=${usage.rows} group=${value.group} measure=${measure} />`}
    <${Table}
      caption=${`Usage by day and ${value.group}`}
      columns=${columnsOf(value.group)}
      rows=${usage.rows}
      empty="Nothing was used in this month."
    />
    <h2>Limits of keys in ${quota.period}</h2>
    <${Table} caption="What is used of the keys' monthly limits" columns=${LIMITS} rows=${quota.keys} />`;
}
