/** The console: signing in, the views and the navigation between them. The view stands behind # in the address, a key never does. */
import { render } from "./preact.js";
import { useEffect, useState } from "./preact-hooks.js";
import { Form, html, Problem } from "./console-parts.js";
import { ask, isSignedIn, onSignedOut, signIn, signInByLink, signOut } from "./console-service.js";
import { Playground } from "./console-playground.js";
import { Job, Jobs } from "./console-jobs.js";
import { Usage } from "./console-usage.js";
import { Keys } from "./console-keys.js";
import { Monitors, Sessions } from "./console-watching.js";
import { DeadLetters } from "./console-dead-letters.js";
import { Invoices } from "./console-invoices.js";
import { Alerts } from "./console-alerts.js";
import { Notices } from "./console-notices.js";
import { Operations } from "./console-operations.js";
import { Domains, Nodes } from "./console-operator.js";
import { Sources } from "./console-sources.js";

const VIEWS = {
  try: ["Try it", Playground],
  jobs: ["Jobs", Jobs],
  usage: ["Usage", Usage],
  alerts: ["Alerts", Alerts],
  keys: ["Keys", Keys],
  sessions: ["Sessions", Sessions],
  monitors: ["Monitors", Monitors],
};
const ADMIN_VIEWS = { invoices: ["Invoices", Invoices] };
const OPERATOR_VIEWS = {
  nodes: ["Nodes", Nodes],
  domains: ["Domains", Domains],
  letters: ["Dead letters", DeadLetters],
  notices: ["Incidents and maintenance", Notices],
  sources: ["Sources", Sources],
  operations: ["Audit log", Operations],
};

const viewsOf = (role) => ({
  ...VIEWS,
  ...(role === "account_admin" || role === "operator" ? ADMIN_VIEWS : {}),
  ...(role === "operator" ? OPERATOR_VIEWS : {}),
});

const placeOf = () => location.hash.replace(/^#\/?/, "").split("/");

function usePlace() {
  const [place, setPlace] = useState(placeOf);
  useEffect(() => {
    const follow = () => setPlace(placeOf());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

function SignIn({ reason, onDone }) {
  const submit = async ({ key, remember }) => {
    await signIn(key.trim(), remember === "on");
    onDone();
  };
  return html`<main>
    <h1>Trawl console</h1>
    <p>
      Sign in with a key of this service. The operator makes one with${" "}
      <code>trawl key create --project default</code>; with an account admin key (<code>--admin</code>) you
      see keys and usage of the whole account, with an operator key the service.
    </p>
    <${Problem} text=${reason} />
    <${Form} label="Sign in" submit="Sign in" onSubmit=${submit}>
      <label
        >API key
        <input
          name="key"
          type="password"
          required
          autocomplete="off"
          spellcheck=${false}
          placeholder="sk_…, ak_… or ok_…"
      /></label>
      <label class="check"
        ><input name="remember" type="checkbox" /> Stay signed in for 12 hours, by a cookie that scripts
        cannot read</label
      >
    <//>
    <p class="quiet">
      Without that the key stays in the memory of this tab, and is gone when you close or reload it.
    </p>
    <p><a href="/">What this service is</a> · <a href="/docs">API reference</a></p>
  </main>`;
}

function Nav({ views, at, quota, onOut }) {
  return html`<header>
    <a class="brand" href="/">Trawl</a>
    <nav aria-label="Console">
      ${Object.entries(views).map(
        ([id, [name]]) => html`<a href=${`#/${id}`} aria-current=${id === at ? "page" : null}>${name}</a>`,
      )}
    </nav>
    <p class="who">
      ${quota ? `${quota.key}… (${quota.role.replace("_", " ")}), ${quota.project.name}` : "…"}
      <button type="button" onClick=${onOut}>Sign out</button>
    </p>
  </header>`;
}

function Console() {
  const [first = "try", ...rest] = usePlace();
  const [quota, setQuota] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    ask("GET", "/v1/quota").then(setQuota, ({ message }) => setProblem(message));
  }, []);
  const role = quota?.role ?? null;
  const views = viewsOf(role);
  const at = Object.hasOwn(views, first) ? first : "try";
  const [title, View] = at === "jobs" && rest[0] ? [`Job ${rest[0]}`, Job] : views[at];
  useEffect(() => {
    document.title = `${title} – Trawl console`;
  }, [title]);
  // Navigation and views are of a role: drawn before it is known, they would move.
  if (quota === null && problem === null) return html`<p class="quiet">Asking…</p>`;
  return html`<${Nav} views=${views} at=${at} quota=${quota} onOut=${signOut} />
    <main id="view">
      <h1>${title}</h1>
      <${Problem} text=${problem} />
      <${View} key=${location.hash} place=${rest} role=${role} quota=${quota} />
    </main>`;
}

/** The secret of a one-time link is taken out of the address and the history before it is used. */
function takeLink() {
  const [view, secret] = placeOf();
  if (view !== "sign-in" || !secret) return null;
  history.replaceState(null, "", "/console");
  return secret;
}
const LINK = takeLink();

function App() {
  const [isIn, setIn] = useState(() => LINK === null && isSignedIn());
  const [reason, setReason] = useState(LINK === null ? null : "Signing in…");
  useEffect(() => {
    if (LINK === null) return;
    signInByLink(LINK).then(
      () => setIn(true),
      ({ message }) => setReason(message),
    );
  }, []);
  useEffect(
    () =>
      onSignedOut((why) => {
        setReason(why);
        setIn(false);
      }),
    [],
  );
  return isIn
    ? html`<${Console} />`
    : html`<${SignIn}
        reason=${reason}
        onDone=${() => {
          setReason(null);
          setIn(true);
        }}
      />`;
}

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
