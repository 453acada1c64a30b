/**
 * The status page for people: HTML without scripts, in light and dark, for a phone as well. It loads itself anew every
 * minute. Pure.
 */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import {
  OVERALL,
  type ServiceStatus,
  type Status,
  type StatusComponent,
  type StatusHistory,
  type StatusIncident,
  type StatusMaintenance,
  type StatusSeries,
  STATUSES,
} from "../../../../schemas/status.ts";
import type { Reason } from "../../../../schemas/status.ts";

const WORDS: Readonly<Record<Status, string>> = {
  operational: "Operational",
  maintenance: "Maintenance",
  degraded: "Degraded",
  partial_outage: "Partial outage",
  major_outage: "Major outage",
};

const REASON_WORDS: Readonly<Record<Reason, string>> = {
  no_workers: "no worker is running",
  queue_lag: "requests wait in a queue",
  low_success_rate: "too many requests fail",
  high_latency: "answers take long",
  engines_reduced: "some search engines are unavailable",
  engines_unavailable: "no search engine is available",
  tier_errors: "too many attempts fail",
  scheduler_stalled: "the scheduler is late",
  jobs_waiting: "jobs wait to start",
  database_unreachable: "the database cannot be reached",
  cache_unreachable: "the cache cannot be reached",
  object_storage_unreachable: "the object storage cannot be reached",
  filings_backoff: "the filing system asked for a pause",
  throttled: "requests to the filing system wait",
  incident: "incident",
  maintenance: "maintenance",
  canary_failed: "its check fails",
  source_backoff: "the source asked for a pause",
  schema_drift: "the source changed its format",
  parse_failures: "some documents cannot be read",
};

/** Two hours each: narrow enough for a phone. */
const BUCKETS_PER_BAR = 2;

export function statusPage(status: ServiceStatus, history: StatusHistory): string {
  const groups = [...new Set(status.components.map(({ group }) => group))];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="60">
<title>${WORDS[status.status]} · service status</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header class="${status.status}"><h1>${escapeHtml(status.description)}</h1>
<p>As of ${time(status.updated_at)}. ${uptime(history.components[OVERALL])}</p></header>
${current(status)}
${groups.map((group) => componentGroup(group, status, history)).join("\n")}
<p class="legend">${STATUSES.map((each) => `<span><i class="${each}"></i>${WORDS[each]}</span>`).join("")}<span><i></i>No data</span></p>
<p class="legend">Each bar is two hours; the right end is now. Times are UTC.</p>
${past(status)}
<footer><p>For programs: <a href="/v1/status">/v1/status</a>, <a href="/v1/status/history?hours=168">history</a>, <a href="/docs/reference">API reference</a></p></footer>
</main>
</body>
</html>
`;
}

/** The sections of unresolved incidents and of announced maintenance. */
function current({ incidents, maintenance }: ServiceStatus): string {
  const open = incidents.filter(({ status }) => status !== "resolved");
  const announced = maintenance.filter(({ status }) => status !== "completed");
  return (
    section("Incidents", open.map(incidentArticle)) +
    section("Maintenance", announced.map(maintenanceArticle))
  );
}

function past({ incidents, maintenance }: ServiceStatus): string {
  const resolved = incidents.filter(({ status }) => status === "resolved");
  const completed = maintenance.filter(({ status }) => status === "completed");
  const entries = [...resolved.map(incidentArticle), ...completed.map(maintenanceArticle)];
  return section("The last seven days", entries.length > 0 ? entries : ["<p>No incidents.</p>"]);
}

const section = (title: string, entries: readonly string[]): string =>
  entries.length === 0 ? "" : `<section><h2>${title}</h2>${entries.join("")}</section>\n`;

function componentGroup(
  group: StatusComponent["group"],
  { components }: ServiceStatus,
  history: StatusHistory,
): string {
  const rows = components
    .filter((component) => component.group === group)
    .map((component) => componentRow(component, history));
  return section(group === null ? "Components" : "Company data", [`<ul>${rows.join("")}</ul>`]);
}

function componentRow(
  { id, name, description, status, reasons }: StatusComponent,
  history: StatusHistory,
): string {
  const why = reasons.map((reason) => REASON_WORDS[reason]).join(", ");
  const series = history.components[id];
  return (
    `<li id="${escapeHtml(id)}"><div class="row"><h3>${escapeHtml(name)}</h3><b class="${status}">${WORDS[status]}</b></div>` +
    `<p>${escapeHtml(description)}${why === "" ? "" : `: <em>${escapeHtml(why)}</em>`}</p>` +
    bars(series, history) +
    `<p class="uptime">${uptime(series)}</p></li>`
  );
}

function bars(series: StatusSeries | undefined, { since, bucket_s }: StatusHistory): string {
  const statuses = series?.statuses ?? [];
  const spans = Array.from({ length: Math.ceil(statuses.length / BUCKETS_PER_BAR) }, (_, bar) => {
    const from = bar * BUCKETS_PER_BAR;
    const known = statuses.slice(from, from + BUCKETS_PER_BAR).filter((status) => status !== null);
    const worst = STATUSES.findLast((status) => known.includes(status));
    const begins = time(new Date(Date.parse(since) + from * bucket_s * 1_000).toISOString(), false);
    return `<i class="${worst ?? ""}" title="${begins}: ${worst ? WORDS[worst] : "no data"}"></i>`;
  });
  return `<div class="bars" role="img" aria-label="The last seven days. ${uptime(series)}">${spans.join("")}</div>`;
}

const uptime = (series: StatusSeries | undefined): string =>
  series?.uptime == null ? "" : `${(Math.floor(series.uptime * 10_000) / 100).toFixed(2)} % up in seven days`;

const incidentArticle = (incident: StatusIncident): string =>
  article(incident, `${sentence(incident.status)}, impact: ${incident.impact.replace("_", " ")}`);

const maintenanceArticle = (window: StatusMaintenance): string =>
  article(window, `${sentence(window.status)}, ${time(window.starts_at)} to ${time(window.ends_at)}`);

function article({ title, components, updates }: StatusIncident | StatusMaintenance, line: string): string {
  const scope = components.length === 0 ? "the whole service" : components.join(", ");
  const entries = updates.map(
    ({ at, status, message }) =>
      `<li><b>${escapeHtml(sentence(status))}</b> ${time(at)}<br>${escapeHtml(message)}</li>`,
  );
  return (
    `<article><h3>${escapeHtml(title)}</h3><p>${line}. Concerns ${escapeHtml(scope)}.</p>` +
    `<ol>${entries.join("")}</ol></article>`
  );
}

const sentence = (code: string): string => `${code[0]!.toUpperCase()}${code.slice(1).replaceAll("_", " ")}`;

/** "23 Nov 2026, 14:05"; with `asElement` an element of time. */
function time(iso: string, asElement = true): string {
  const text = new Date(iso).toLocaleString("en-GB", {
    timeZone: "UTC",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  return asElement ? `<time datetime="${iso}">${text} UTC</time>` : text;
}

const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#16191d;--soft:#5a626c;--line:#d9dde2;--none:#e3e6ea;
--operational:#1f8a4c;--maintenance:#2f6fd0;--degraded:#c98a00;--partial_outage:#d9600f;--major_outage:#c62828}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e8eaed;--soft:#a3abb5;--line:#31363c;--none:#2b3036;
--operational:#3fb573;--maintenance:#6ea3f5;--degraded:#e3b341;--partial_outage:#f08a45;--major_outage:#f0685f}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1rem}h1{font-size:1.35rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:0}p{margin:.15rem 0;color:var(--soft);overflow-wrap:anywhere}a{color:inherit}
header{border:1px solid var(--line);border-left:.5rem solid var(--soft);border-radius:.4rem;padding:.8rem 1rem;margin-top:1rem}
ul,ol{list-style:none;margin:0;padding:0}ul>li{border:1px solid var(--line);border-radius:.4rem;padding:.7rem .9rem;margin:.5rem 0}
.row{display:flex;justify-content:space-between;gap:1rem;flex-wrap:wrap}em{font-style:normal;color:var(--fg)}
.bars{display:flex;gap:1px;height:1.6rem;margin:.45rem 0 .2rem}.bars i{flex:1;min-width:1px;background:var(--none);border-radius:1px}
.uptime,.legend,footer{font-size:.85rem}.legend span{display:inline-block;margin-right:1rem}
.legend i{display:inline-block;width:.75rem;height:.75rem;border-radius:2px;background:var(--none);margin-right:.35rem;vertical-align:-1px}
article{border:1px solid var(--line);border-radius:.4rem;padding:.7rem .9rem;margin:.5rem 0}
ol li{margin:.5rem 0 0;padding-left:.7rem;border-left:2px solid var(--line);overflow-wrap:anywhere}time{color:var(--soft)}
footer{margin:2rem 0 1rem}
${STATUSES.map((status) => `i.${status},.bars i.${status},.legend i.${status}{background:var(--${status})}b.${status}{color:var(--${status})}header.${status}{border-left-color:var(--${status})}`).join("\n")}
`;
