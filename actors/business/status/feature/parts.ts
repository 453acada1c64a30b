/** Parts of the status pages: the frame of a page, times, notices. HTML with the script and the style in files of their own. Pure. */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import {
  type Reason,
  type Status,
  type StatusIncident,
  type StatusMaintenance,
} from "../../../../schemas/status.ts";

export const WORDS: Readonly<Record<Status, string>> = {
  operational: "Operational",
  maintenance: "Maintenance",
  degraded: "Degraded",
  partial_outage: "Partial outage",
  major_outage: "Major outage",
};

export const REASON_WORDS: Readonly<Record<Reason, string>> = {
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

export interface Frame {
  readonly title: string;
  /** The program that runs, for a report of a bug. */
  readonly build: string;
  /** HTML. */
  readonly content: string;
}

/** The script asks for the page again and replaces `main`; without scripts the page is as it was loaded. */
export const framed = ({ title, build, content }: Frame): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="Whether this service works: its components, incidents and maintenance.">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/pages/status.css">
<link rel="alternate" type="application/atom+xml" title="Incidents and maintenance (Atom)" href="/status/atom.xml">
<link rel="alternate" type="application/rss+xml" title="Incidents and maintenance (RSS)" href="/status/rss.xml">
<script type="module" src="/pages/status.js"></script>
</head>
<body>
<nav aria-label="Pages"><a href="/">Trawl</a> <a href="/docs">Documentation</a> <a href="/console">Console</a> <a href="/status">Status</a> <a href="/status/incidents">Incidents</a></nav>
<p id="said" class="unseen" role="status"></p>
<main id="live">
${content}
</main>
<footer><p>Follow: <a href="/status/rss.xml">RSS</a>, <a href="/status/atom.xml">Atom</a>. For programs: <a href="/v1/status">/v1/status</a>, <a href="/v1/status/history?hours=168">history</a>, <a href="/docs/api/status">how to read them</a>.</p>
<p>${escapeHtml(build)}</p></footer>
</body>
</html>
`;

export const section = (title: string, entries: readonly string[]): string =>
  entries.length === 0 ? "" : `<section><h2>${title}</h2>${entries.join("")}</section>\n`;

/** A notice in the lists of a page: its state and its last update, with a link to its own page. */
export function noticeSummary(notice: StatusIncident | StatusMaintenance): string {
  const [last] = notice.updates;
  return (
    `<article><h3><a href="${noticePath(notice)}">${escapeHtml(notice.title)}</a></h3><p>${scopeLine(notice)}</p>` +
    (last === undefined ? "" : `<ol>${updateItem(last)}</ol>`) +
    `</article>`
  );
}

export const isIncident = (notice: StatusIncident | StatusMaintenance): notice is StatusIncident =>
  "impact" in notice;

export const noticePath = (notice: StatusIncident | StatusMaintenance): string =>
  `/status/${isIncident(notice) ? "incidents" : "maintenance"}/${encodeURIComponent(notice.id)}`;

/** HTML. */
export function scopeLine(notice: StatusIncident | StatusMaintenance): string {
  const state = sentence(notice.status);
  const line = isIncident(notice)
    ? `${state}, impact: ${notice.impact.replace("_", " ")}`
    : `${state}, ${time(notice.starts_at)} to ${time(notice.ends_at)}`;
  const scope = notice.components.length === 0 ? "the whole service" : notice.components.join(", ");
  return `${line}. Concerns ${escapeHtml(scope)}.`;
}

export const updateItem = ({ at, status, message }: StatusIncident["updates"][number]): string =>
  `<li><b>${escapeHtml(sentence(status))}</b> ${time(at)}<br>${escapeHtml(message)}</li>`;

export const sentence = (code: string): string =>
  `${code[0]!.toUpperCase()}${code.slice(1).replaceAll("_", " ")}`;

/** "23 Nov 2026, 14:05 UTC" as an element of time; to the minute, so that a page stays equal between two minutes. */
export const time = (iso: string): string =>
  `<time datetime="${iso.slice(0, 16)}Z">${timeText(iso)} UTC</time>`;

export const timeText = (iso: string): string =>
  new Date(iso).toLocaleString("en-GB", {
    timeZone: "UTC",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
