/** The account's keys: made, changed, rotated and revoked by its admins; what was done stands below. */
import { useState } from "./preact-hooks.js";
import { Action, Choice, Field, Form, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask, replaceKey } from "./console-service.js";

const EVENTS = [
  ["When", ({ at }) => when(at)],
  ["By", ({ by }) => by],
  ["What", ({ action }) => action],
  ["Key", ({ key }) => key],
  ["Set", ({ fields, replaced_by }) => (replaced_by ? `replaced by ${replaced_by}` : fields.join(", "))],
];

const limitsOf = ({ categories, rate_limit_rps, quotas, spend_cap }) =>
  [
    categories && `only ${categories.join(", ")}`,
    rate_limit_rps && `${rate_limit_rps} a second`,
    quotas.fetch !== null && `${quotas.fetch} fetches`,
    quotas.search !== null && `${quotas.search} searches`,
    spend_cap && `spend ${spend_cap}`,
  ]
    .filter(Boolean)
    .join(", ");

function bodyOf({ label, role, rps, fetches, searches, spend_cap, expires }) {
  return {
    ...(label && { label }),
    ...(role && { role }),
    ...(rps && { rate_limit_rps: Number(rps) }),
    ...((fetches || searches) && {
      quotas: { ...(fetches && { fetch: Number(fetches) }), ...(searches && { search: Number(searches) }) },
    }),
    ...(spend_cap && { spend_cap }),
    ...(expires && { expires_at: new Date(`${expires}T00:00:00Z`).toISOString() }),
  };
}

const LimitFields = () =>
  html` <${Field} label="Label" name="label" maxlength="200" />
    <${Field} label="Requests a second" name="rps" type="number" min="1" />
    <${Field} label="Fetches a month" name="fetches" type="number" min="0" />
    <${Field} label="Searches a month" name="searches" type="number" min="0" />
    <${Field}
      label="Spend a month"
      name="spend_cap"
      pattern="\\d{1,9}(\\.\\d{1,6})?"
      title="An amount as 25 or 25.50"
    />
    <${Field} label="Works until (UTC)" name="expires" type="date" />`;

/** A new key is shown once, here. */
function NewKey({ made, onDone }) {
  return html`<section class="made" aria-label="The new key" role="status">
    <h2>Save the new key now</h2>
    <p>It is not shown again; afterwards the service knows it by its prefix.</p>
    <p><code id="new-key">${made.key}</code></p>
    <p class="row">
      <button type="button" onClick=${() => navigator.clipboard.writeText(made.key)}>Copy</button>
      <button type="button" onClick=${onDone}>I have saved it</button>
    </p>
  </section>`;
}

function Row({ entry, own, onMade, refresh }) {
  const { prefix, label, status } = entry;
  if (status === "revoked") return "";
  const isOwn = prefix === own;
  const named = label ? `${prefix} (${label})` : prefix;
  const note = isOwn ? " It is the key that you are signed in with." : "";
  const rotate = (grace_s) => async () => {
    const made = await ask("POST", `/v1/keys/${prefix}/rotate`, { grace_s });
    replaceKey(prefix, made.key);
    onMade(made);
    await refresh();
  };
  const revoke = async () => {
    await ask("DELETE", `/v1/keys/${prefix}`);
    await refresh();
  };
  return html`<span class="row">
    <${Action}
      label="Rotate"
      of=${prefix}
      run=${rotate(0)}
      what=${`A new key with the limits of ${named} is made and shown once. The old one is refused within five seconds, and its jobs end.${note}`}
    />
    <${Action}
      label="Rotate in an hour"
      of=${prefix}
      run=${rotate(3600)}
      what=${`A new key with the limits of ${named} is made and shown once. The old one works for another hour, so that programs can change over.${note}`}
    />
    <${Action}
      label="Revoke"
      of=${prefix}
      run=${revoke}
      what=${`${named} is refused within five seconds and never works again; its jobs end what is in flight and cancel the rest. The last account admin key is not revoked here.${note}`}
    />
  </span>`;
}

export function Keys({ role, quota }) {
  const [made, setMade] = useState(null);
  const { value, problem, refresh } = useLive(
    async () =>
      role === "standard" || role === null
        ? null
        : { ...(await ask("GET", "/v1/keys")), ...(await ask("GET", "/v1/keys/events")) },
    [role],
  );
  if (role === "standard")
    return html`<p>Keys are for account admins: sign in with a key that begins with ak_.</p>`;
  if (value === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  const create = async (fields, form) => {
    setMade(await ask("POST", "/v1/keys", bodyOf(fields)));
    form.reset();
    await refresh();
  };
  const change = async ({ prefix, ...fields }, form) => {
    await ask("PATCH", `/v1/keys/${prefix}`, bodyOf(fields));
    form.reset();
    await refresh();
  };
  const columns = [
    ["Key", ({ prefix }) => prefix],
    ["Label", ({ label }) => label ?? ""],
    ["Role", (entry) => entry.role.replace("_", " ")],
    ["Project", ({ project }) => project],
    ["State", ({ status, expires_at }) => html`${status}${expires_at && html`, until ${when(expires_at)}`}`],
    ["Limits", limitsOf],
    [
      "Actions",
      (entry) => html`<${Row} entry=${entry} own=${quota?.key} onMade=${setMade} refresh=${refresh} />`,
    ],
  ];
  const active = value.keys.filter(({ status }) => status === "active");
  return html`<${Problem} text=${problem} />
    ${made && html`<${NewKey} made=${made} onDone=${() => setMade(null)} />`}
    <${Table} caption="Keys of the account" columns=${columns} rows=${value.keys} />
    <details>
      <summary>Make a key</summary>
      <${Form} label="Make a key" submit="Make the key" onSubmit=${create}>
        <${Choice}
          label="Role"
          name="role"
          options=${[
            ["standard", "standard"],
            ["account_admin", "account admin"],
          ]}
        />
        <${LimitFields} />
      <//>
    </details>
    <details>
      <summary>Change a key</summary>
      <${Form} label="Change a key" submit="Change the key" onSubmit=${change}>
        <${Choice}
          label="Key"
          name="prefix"
          options=${active.map(({ prefix, label }) => [prefix, label ? `${prefix} (${label})` : prefix])}
        />
        <p class="quiet">What is left empty stays as it is. A change holds within five seconds.</p>
        <${LimitFields} />
      <//>
    </details>
    <h2>What was done to keys</h2>
    <${Table} caption="Changes of keys over HTTP, newest first" columns=${EVENTS} rows=${value.events} />`;
}
