/** Sessions and monitors of the project. */
import { Action, Choice, Field, Form, html, link, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

export function Sessions() {
  const { value, problem, refresh } = useLive(() => ask("GET", "/v1/sessions"), []);
  const create = async ({ label, ttl }, form) => {
    await ask("POST", "/v1/sessions", { ttl_s: Number(ttl), ...(label && { label }) });
    form.reset();
    await refresh();
  };
  const end = (id) => async () => {
    await ask("DELETE", `/v1/sessions/${id}`);
    await refresh();
  };
  const columns = [
    ["Session", ({ session_id }) => session_id],
    ["Label", ({ label }) => label ?? ""],
    ["Cookies", ({ cookies }) => cookies, true],
    ["Last used", ({ last_used_at }) => when(last_used_at) || "never"],
    ["Ends", ({ expires_at }) => when(expires_at)],
    [
      "Actions",
      ({ session_id }) =>
        html`<${Action}
          label="End"
          of=${session_id}
          run=${end(session_id)}
          what="Its cookies are forgotten; requests that name it are refused with session_not_found."
        />`,
    ],
  ];
  return html`<p>
      A session keeps the cookies of sites between fetches that name it (<code>session_id</code>).
    </p>
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Sessions whose time is not over" columns=${columns} rows=${value.sessions} />`}
    <${Form} label="Make a session" submit="Make a session" onSubmit=${create}>
      <${Field} label="Label" name="label" maxlength="200" />
      <${Field}
        label="Seconds it lives"
        name="ttl"
        type="number"
        min="60"
        max="86400"
        value="3600"
        required
      />
    <//>`;
}

export function Monitors() {
  const { value, problem, refresh } = useLive(() => ask("GET", "/v1/monitors"), []);
  const create = async ({ url, watch, every, label }, form) => {
    await ask("POST", "/v1/monitors", { url, watch, every_s: Number(every) * 60, ...(label && { label }) });
    form.reset();
    await refresh();
  };
  const act = (method, path, body) => async () => {
    await ask(method, `/v1/monitors/${path}`, body);
    await refresh();
  };
  const columns = [
    ["Page", ({ url, label }) => html`${label ? `${label}: ` : ""}${link(url)}`],
    ["Watches", ({ watch }) => watch],
    [
      "Visits",
      ({ every_s, cron, paused }) =>
        paused ? `paused: ${paused}` : every_s ? `every ${Math.round(every_s / 60)} min` : cron,
    ],
    [
      "Last visit",
      ({ last_check }) =>
        last_check ? html`${last_check.error ?? last_check.outcome}, ${when(last_check.at)}` : "none yet",
    ],
    ["Changes", ({ changes }) => changes, true],
    [
      "Actions",
      ({ id, url, paused }) =>
        html`<span class="row">
          <${Action}
            label="Visit now"
            of=${url}
            what="The page is fetched once, now, and billed as a fetch."
            run=${act("POST", `${id}/run`)}
          />
          <${Action}
            label=${paused ? "Resume" : "Pause"}
            of=${url}
            run=${act("PATCH", id, { paused: !paused })}
            what=${paused ? "The page is visited again, at the cost of this key." : "The page is not visited until the monitor is resumed; nothing is billed meanwhile."}
          />
          <${Action}
            label="Delete"
            of=${url}
            what="The monitor ends, and its list of changes is forgotten."
            run=${act("DELETE", id)}
          />
        </span>`,
    ],
  ];
  return html`<p>A monitor visits a page again and again and tells what has changed.</p>
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Monitors of the project" columns=${columns} rows=${value.monitors} />`}
    <${Form} label="Make a monitor" submit="Make a monitor" onSubmit=${create}>
      <${Field} label="Address" name="url" required maxlength="8192" placeholder="https://example.org/" />
      <${Choice}
        label="Watches"
        name="watch"
        options=${["text", "markdown", "status", "links"].map((word) => [word, word])}
      />
      <${Field} label="Minutes between visits" name="every" type="number" min="5" value="60" required />
      <${Field} label="Label" name="label" maxlength="200" />
    <//>`;
}
