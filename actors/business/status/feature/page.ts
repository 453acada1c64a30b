/** The status page for people, and the page of one component. Pure. */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import {
  OVERALL,
  type ServiceStatus,
  type StatusComponent,
  type StatusHistory,
  STATUSES,
} from "../../../../schemas/status.ts";
import { noticesOf } from "../evaluate.ts";
import { bars, durationText, uptimeText } from "./bars.ts";
import { framed, noticeSummary, REASON_WORDS, section, time, WORDS } from "./parts.ts";

const LEGEND = `<p class="legend">${STATUSES.map((each) => `<span><i class="${each}"></i>${WORDS[each]}</span>`).join("")}<span><i></i>No data</span></p>
<p class="legend">Each bar is two hours; the right end is now. Times are UTC.</p>`;

export function statusPage(status: ServiceStatus, history: StatusHistory, build: string): string {
  const groups = [...new Set(status.components.map(({ group }) => group))];
  return framed({
    title: `${WORDS[status.status]} · service status`,
    build,
    content: `<header class="${status.status}"><h1>${escapeHtml(status.description)}</h1>
<p>As of ${time(status.updated_at)}. ${uptimeText(history.components[OVERALL], history)}</p></header>
${current(status)}
${groups.map((group) => componentGroup(group, status, history)).join("\n")}
${LEGEND}
${past(status)}`,
  });
}

/** The page of one component, with its figures and the notices that name it. */
export function componentPage(
  component: StatusComponent,
  status: ServiceStatus,
  history: StatusHistory,
  build: string,
): string {
  const { id, name, description, metrics } = component;
  const figures = Object.entries(metrics).map(
    ([figure, value]) => `<dt>${escapeHtml(figure.replaceAll("_", " "))}</dt><dd>${value}</dd>`,
  );
  const { incidents, maintenance } = noticesOf(status, id);
  return framed({
    title: `${name}: ${WORDS[component.status]} · service status`,
    build,
    content: `<header class="${component.status}"><h1>${escapeHtml(name)}</h1>
<p>${escapeHtml(description)}</p><p><b class="${component.status}">${WORDS[component.status]}</b>${whyOf(component)}. As of ${time(status.updated_at)}.</p></header>
${bars(history.components[id], history)}
<p class="uptime">${uptimeText(history.components[id], history)}</p>
${LEGEND}
${section(`Figures of the last ${durationText(status.window_s)}`, figures.length > 0 ? [`<dl>${figures.join("")}</dl>`] : [])}
${section("Incidents and maintenance of the last seven days", [...incidents, ...maintenance].map(noticeSummary))}
<p>A picture of its state for other pages: <a href="/status/components/${encodeURIComponent(id)}/badge.svg">badge</a>. <a href="/status">All components</a></p>`,
  });
}

/** The sections of unresolved incidents and of announced maintenance. */
function current({ incidents, maintenance }: ServiceStatus): string {
  const open = incidents.filter(({ status }) => status !== "resolved");
  const announced = maintenance.filter(({ status }) => status !== "completed");
  return section("Incidents", open.map(noticeSummary)) + section("Maintenance", announced.map(noticeSummary));
}

function past({ incidents, maintenance }: ServiceStatus): string {
  const over = [
    ...incidents.filter(({ status }) => status === "resolved"),
    ...maintenance.filter(({ status }) => status === "completed"),
  ];
  const entries = over.length > 0 ? over.map(noticeSummary) : ["<p>No incidents.</p>"];
  return section("The last seven days", [...entries, `<p><a href="/status/incidents">All incidents</a></p>`]);
}

function componentGroup(
  group: StatusComponent["group"],
  { components }: ServiceStatus,
  history: StatusHistory,
): string {
  const rows = components
    .filter((component) => component.group === group)
    .map((component) => componentRow(component, history));
  return section(group === null ? "Components" : "Company data", [
    `<ul class="components">${rows.join("")}</ul>`,
  ]);
}

function componentRow(component: StatusComponent, history: StatusHistory): string {
  const { id, name, description, status } = component;
  const series = history.components[id];
  return (
    `<li id="${escapeHtml(id)}"><div class="row"><h3><a href="/status/components/${encodeURIComponent(id)}">${escapeHtml(name)}</a></h3><b class="${status}">${WORDS[status]}</b></div>` +
    `<p>${escapeHtml(description)}${whyOf(component)}</p>` +
    bars(series, history) +
    `<p class="uptime">${uptimeText(series, history)}</p></li>`
  );
}

function whyOf({ reasons }: StatusComponent): string {
  const why = reasons.map((reason) => REASON_WORDS[reason]).join(", ");
  return why === "" ? "" : `: <em>${escapeHtml(why)}</em>`;
}
