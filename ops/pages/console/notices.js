/** For operators: incidents and maintenance on the status page, announced and ended here. */
import { useState } from "./preact-hooks.js";
import { Action, Choice, Field, Form, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const INCIDENTS = "/v1/ops/incidents";
const MAINTENANCE = "/v1/ops/maintenance";
const words = (list) => list.map((word) => [word, word.replaceAll("_", " ")]);
const IMPACTS = words(["degraded", "none", "partial_outage", "major_outage"]);
const STATES = words(["investigating", "identified", "monitoring", "resolved"]);
const listOf = (text) => (text ? text.split(",").map((id) => id.trim()) : []);
const Message = () =>
  html`<${Field} label="Message, for everyone" name="message" required maxlength="2000" />`;

const common = (subject) => [
  [subject, ({ title, id }) => `${title} (${id})`],
  ["State", ({ status }) => status.replaceAll("_", " ")],
  ["Components", ({ components }) => components.join(", ") || "all"],
];

/** An update of an incident. Its state is offered first, then those after it: an incident never goes back. */
function Update({ incidents, onSubmit }) {
  const [chosen, setChosen] = useState(null);
  const { id, status } = incidents.find((incident) => incident.id === chosen) ?? incidents[0];
  const states = STATES.slice(STATES.findIndex(([state]) => state === status));
  return html`<${Form} label="Update an incident" submit="Tell everyone" onSubmit=${onSubmit}>
    <${Choice}
      label="Incident"
      name="id"
      value=${id}
      onChange=${({ currentTarget }) => setChosen(currentTarget.value)}
      options=${incidents.map((incident) => [incident.id, incident.title])}
    />
    <${Choice} key=${`${id} ${status}`} label="State" name="status" options=${states} />
    <${Message} />
  <//>`;
}

export function Notices() {
  const { value, problem, refresh } = useLive(() => ask("GET", INCIDENTS), []);
  const sent = (path, body) => async (fields, form) => {
    await ask("POST", path(fields), body(fields));
    form.reset();
    await refresh();
  };
  const incidents = [
    ...common("Incident"),
    ["Impact", ({ impact }) => impact.replaceAll("_", " ")],
    ["Since", ({ created_at }) => when(created_at)],
    ["Last said", ({ updates }) => updates[0].message],
  ];
  const windows = [
    ...common("Maintenance"),
    ["From", ({ starts_at }) => when(starts_at)],
    ["To", ({ ends_at }) => when(ends_at)],
    [
      "Actions",
      ({ id, status, title }) =>
        status !== "completed" &&
        html`<${Action}
          label="Complete"
          of=${title}
          what="The window ends now; one that has not begun is called off. Everyone sees it on the status page within 15 seconds, and webhooks are told."
          run=${async () => {
            await ask("POST", `${MAINTENANCE}/${id}`, { message: "Completed" });
            await refresh();
          }}
        />`,
    ],
  ];
  const open = (value?.incidents ?? []).filter(({ status }) => status !== "resolved");
  return html`<p>
      Everyone reads these on the <a href="/status">status page</a> within 15 seconds, and webhooks of the
      status are told. Nothing is taken back: an incident ends by “resolved”.
    </p>
    <${Problem} text=${problem} />
    ${
      value &&
      html`<${Table}
          caption="Incidents"
          columns=${incidents}
          rows=${value.incidents}
          empty="There is no incident."
        />
        <${Table}
          caption="Maintenance"
          columns=${windows}
          rows=${value.maintenance}
          empty="There is no maintenance."
        />`
    }
    <details>
      <summary>Announce an incident</summary>
      <${Form}
        label="Announce an incident"
        submit="Announce to everyone"
        onSubmit=${sent(
          () => INCIDENTS,
          ({ components, ...rest }) => ({ ...rest, components: listOf(components) }),
        )}
      >
        <${Field} label="Title" name="title" required maxlength="200" />
        <${Message} />
        <${Field} label="Components, by commas" name="components" required placeholder="fetch, search" />
        <${Choice} label="Impact" name="impact" options=${IMPACTS} />
      <//>
    </details>
    ${
      open.length > 0 &&
      html`<details>
        <summary>Say more about an incident, or resolve it</summary>
        <${Update}
          incidents=${open}
          onSubmit=${sent(
            ({ id }) => `${INCIDENTS}/${id}`,
            ({ message, status }) => ({ message, status }),
          )}
        />
      </details>`
    }
    <details>
      <summary>Announce maintenance</summary>
      <${Form}
        label="Announce maintenance"
        submit="Announce to everyone"
        onSubmit=${sent(
          () => MAINTENANCE,
          ({ components, from, to, ...rest }) => ({
            ...rest,
            components: listOf(components),
            starts_at: `${from}:00Z`,
            ends_at: `${to}:00Z`,
          }),
        )}
      >
        <${Field} label="Title" name="title" required maxlength="200" />
        <${Message} />
        <${Field} label="From (UTC)" name="from" type="datetime-local" required />
        <${Field} label="To (UTC)" name="to" type="datetime-local" required />
        <${Field} label="Components, by commas; empty: all" name="components" />
      <//>
    </details>`;
}
