/** The page of one incident or maintenance window, and the list of all that are kept. Pure. */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import type { StatusIncident, StatusMaintenance } from "../../../../schemas/status.ts";
import { framed, isIncident, noticeSummary, scopeLine, section, time, updateItem } from "./parts.ts";

export function noticePage(notice: StatusIncident | StatusMaintenance, build: string): string {
  const { title, created_at, updated_at, updates } = notice;
  const ended_at = isIncident(notice) ? notice.resolved_at : notice.completed_at;
  const ended =
    ended_at === null ? "" : ` ${isIncident(notice) ? "Resolved" : "Completed"} ${time(ended_at)}.`;
  const kind = isIncident(notice) ? "Incident" : "Maintenance";
  return framed({
    title: `${title} · ${kind.toLowerCase()} · service status`,
    build,
    content: `<header><h1>${escapeHtml(title)}</h1><p>${kind}. ${scopeLine(notice)}</p>
<p>Announced ${time(created_at)}, last changed ${time(updated_at)}.${ended}</p></header>
${section("What was said, newest first", [`<ol>${updates.map(updateItem).join("")}</ol>`])}
<p><a href="/status">The status now</a></p>`,
  });
}

/** Newest first. */
export const noticesPage = (
  notices: readonly (StatusIncident | StatusMaintenance)[],
  build: string,
): string =>
  framed({
    title: "Incidents and maintenance · service status",
    build,
    content: `<h1>Incidents and maintenance</h1>
${notices.length === 0 ? "<p>There was none in the last 400 days.</p>" : notices.map(noticeSummary).join("\n")}
<p><a href="/status">The status now</a></p>`,
  });
