/** For operators: the sources of the company register, how each is, and a check of it now. */
import { useState } from "./preact-hooks.js";
import { Action, html, Problem, Table, useLive } from "./console-parts.js";
import { ask } from "./console-service.js";

const CHECKS = [
  ["Source", ({ source }) => source],
  ["What was wrong", ({ problem }) => problem ?? "nothing"],
];

export function Sources() {
  const [checks, setChecks] = useState([]);
  const { value, problem, refresh } = useLive(() => ask("GET", "/v1/companies/sources"), []);
  const check = (name) => async () => {
    const checked = await ask("POST", "/v1/ops/companies/sources/check", { sources: [name] });
    setChecks(checked.checks);
    await refresh();
  };
  const columns = [
    ["Source", ({ name, title }) => `${title} (${name})`],
    [
      "State",
      ({ active, inactive_because, health }) =>
        active ? (health?.state ?? "active") : `inactive: ${inactive_because}`,
    ],
    ["Countries", ({ countries }) => countries.join(", ") || "all"],
    ["Licence", ({ licence }) => licence.id],
    [
      "Succeeded",
      ({ health }) =>
        health?.success_rate == null ? "no requests" : `${Math.round(health.success_rate * 100)} %`,
      true,
    ],
    [
      "Actions",
      ({ name, active }) =>
        active &&
        html`<${Action}
          label="Check"
          of=${name}
          run=${check(name)}
          what=${`${name} is asked now for the companies that it must know, by requests to the source itself. Nothing is changed.`}
        />`,
    ],
  ];
  return html`<p>
      Where the register of companies has its data from. Details are in${" "}
      <code>GET /v1/companies/sources</code>.
    </p>
    <${Problem} text=${problem} />
    <div role="status">
      ${checks.length > 0 && html`<${Table} caption="The last check" columns=${CHECKS} rows=${checks} />`}
    </div>
    ${value && html`<${Table} caption="Sources of the register" columns=${columns} rows=${value.sources} empty="There is no source." />`}`;
}
