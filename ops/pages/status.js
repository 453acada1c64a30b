// Keeps a status page current: asks for it again with its ETag, and replaces what changed without moving the focus or what is open.
const PERIOD_MS = 15_000;
const main = document.getElementById("live");
const said = document.getElementById("said");
let tag = null;
let heading = headingOf(main);
let isAway = false;

function headingOf(part) {
  return part.querySelector("h1")?.textContent ?? "";
}

function say(text) {
  said.textContent = text;
}

function replace(next) {
  const open = new Set([...main.querySelectorAll("details[open]")].map(placeOf));
  const focused = main.contains(document.activeElement) ? pathOf(document.activeElement) : null;
  main.replaceChildren(...next.childNodes);
  for (const details of main.querySelectorAll("details")) details.open = open.has(placeOf(details));
  if (focused !== null) elementAt(focused)?.focus({ preventScroll: true });
}

/** The component that the details are of. */
const placeOf = (details) => details.closest("[id]").id;

/** Links by their address, summaries by their component. */
const pathOf = (element) => element.getAttribute("href") ?? `#${placeOf(element)}`;
const elementAt = (path) =>
  [...main.querySelectorAll("a, summary")].find((element) => pathOf(element) === path) ?? null;

async function refresh() {
  const reply = await fetch(location.pathname, {
    cache: "no-store",
    headers: tag === null ? {} : { "If-None-Match": tag },
    signal: AbortSignal.timeout(PERIOD_MS),
  });
  if (reply.status !== 200 && reply.status !== 304) throw new Error(`HTTP ${reply.status}`);
  if (reply.status === 200) {
    tag = reply.headers.get("ETag");
    const next = new DOMParser().parseFromString(await reply.text(), "text/html");
    const part = next.getElementById("live");
    if (part !== null && part.innerHTML !== main.innerHTML) {
      document.title = next.title;
      const before = heading;
      heading = headingOf(part);
      replace(part);
      if (heading !== before) say(heading);
    }
  }
  if (isAway) say(heading);
  isAway = false;
}

async function turn() {
  if (!document.hidden)
    await refresh().catch(() => {
      if (!isAway) say("The service does not answer; what is shown may be out of date");
      isAway = true;
    });
  said.classList.toggle("unseen", !isAway);
  setTimeout(turn, PERIOD_MS);
}

setTimeout(turn, PERIOD_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh().catch(() => {});
});
