// Lists what a project has archived and shows one capture. Text only: a page is shown in the sandboxed frame and nowhere else.
const by = (id) => document.getElementById(id);
const key = by("key");
key.value = sessionStorage.getItem("key") ?? "";
key.addEventListener("input", () => sessionStorage.setItem("key", key.value));
for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;

const element = (name, text) => Object.assign(document.createElement(name), { textContent: text });

function say(text, failed = false) {
  by("summary").textContent = text;
  by("summary").className = failed ? "failed" : "";
}

/** The answer; null when there is none, which is said then. */
async function ask(path) {
  try {
    const reply = await fetch(path, { headers: { Authorization: `Bearer ${key.value.trim()}` } });
    if (reply.ok) return reply;
    const { detail } = await reply.json();
    say(`HTTP ${reply.status}: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`, true);
  } catch {
    say("The service does not answer", true);
  }
  return null;
}

async function show(url, timestamp) {
  const reply = await ask(`/v1/archive/view?${new URLSearchParams({ url, timestamp })}`);
  if (reply === null) return;
  const { view_url, captured_at } = await reply.json();
  by("title").textContent = `${url}, ${captured_at}`;
  by("frame").src = view_url;
  by("shown").hidden = false;
  by("shown").scrollIntoView();
}

async function download(url, timestamp) {
  const reply = await ask(`/v1/archive/web/${timestamp}id_/${url}`);
  if (reply === null) return;
  const link = element("a", "");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = new URL(url).pathname.split("/").at(-1) || "page";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const timeOf = (timestamp) =>
  timestamp.replace(
    /^(....)(..)(..)(..)(..)(..)$/,
    (_, ...at) => `${at.slice(0, 3).join("-")} ${at.slice(3, 6).join(":")}`,
  );

function rowOf([, timestamp, original, type, status, , bytes]) {
  const row = document.createElement("tr");
  const actions = document.createElement("td");
  for (const [name, act] of [
    ["Show", show],
    ["Download", download],
  ]) {
    const button = element("button", name);
    button.type = "button";
    button.addEventListener("click", () => void act(original, timestamp));
    actions.append(button);
  }
  // First, so that a narrow window has them in sight.
  row.append(
    actions,
    ...[timeOf(timestamp), original, type, status, bytes].map((text) => element("td", text)),
  );
  return row;
}

async function list(url) {
  say("Asking…");
  by("captures").hidden = true;
  const reply = await ask(`/v1/archive/cdx?${new URLSearchParams({ url, limit: 500 })}`);
  if (reply === null) return;
  const [, ...rows] = await reply.json();
  say(
    rows.length === 0
      ? "The project has archived nothing there."
      : `${rows.length} ${rows.length === 1 ? "capture" : "captures"}`,
  );
  by("captures").hidden = rows.length === 0;
  by("captures")
    .querySelector("tbody")
    .replaceChildren(...rows.map(rowOf));
}

by("find").addEventListener("submit", (event) => {
  event.preventDefault();
  void list(new FormData(event.target).get("url"));
});
