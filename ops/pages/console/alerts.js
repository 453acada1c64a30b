/** The webhooks that are told when an allowance is used up, or of incidents and maintenance. */
import { useState } from "./preact-hooks.js";
import { Action, Choice, Field, Form, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const SCOPES = [
  ["key", "this key's allowances"],
  ["project", "the project's allowances (account admins)"],
  ["customer", "the account's allowances (account admins)"],
  ["status", "incidents and maintenance"],
];

/** The secret is shown once, here. */
function NewSecret({ secret, onDone }) {
  return html`<section class="made" aria-label="The secret of the webhook" role="status">
    <h2>Save the secret now</h2>
    <p>It signs the deliveries, and is not shown again.</p>
    <p><code>${secret}</code></p>
    <p class="row"><button type="button" onClick=${onDone}>I have saved it</button></p>
  </section>`;
}

export function Alerts() {
  const [secret, setSecret] = useState(null);
  const { value, problem, refresh } = useLive(() => ask("GET", "/v1/alerts"), []);
  const create = async (body, form) => {
    setSecret((await ask("POST", "/v1/alerts", body)).secret);
    form.reset();
    await refresh();
  };
  const columns = [
    ["Webhook", ({ url }) => url ?? ""],
    [
      "Is told of",
      ({ scope, key, project }) =>
        [scope, project ?? (scope === "key" ? key : null)].filter(Boolean).join(" "),
    ],
    ["At percent", ({ thresholds }) => thresholds.join(", ")],
    [
      "Last delivery",
      ({ last_status, last_delivery_at }) =>
        last_status ? html`${last_status}, ${when(last_delivery_at)}` : "none yet",
    ],
    [
      "Actions",
      ({ id, url }) =>
        html`<${Action}
          label="Remove"
          of=${url ?? `webhook ${id}`}
          run=${async () => {
            await ask("DELETE", `/v1/alerts/${id}`);
            await refresh();
          }}
          what="The webhook is told of nothing more; what was still to be delivered to it is dropped."
        />`,
    ],
  ];
  return html`<p>
      A webhook is told when 50, 80 and 100 percent of a monthly allowance are used. The allowances are on
      ${" "}<a href="#/usage">Usage</a>.
    </p>
    <${Problem} text=${problem} />
    ${secret && html`<${NewSecret} secret=${secret} onDone=${() => setSecret(null)} />`}
    ${value && html`<${Table} caption="Webhooks" columns=${columns} rows=${value.alerts} empty="There is no webhook." />`}
    <${Form} label="Make a webhook" submit="Make a webhook" onSubmit=${create}>
      <${Field}
        label="Address"
        name="url"
        required
        maxlength="2048"
        placeholder="https://client.example/alerts"
      />
      <${Choice} label="It is told of" name="scope" options=${SCOPES} />
    <//>`;
}
