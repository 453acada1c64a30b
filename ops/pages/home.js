// The try-it page: one search or one fetch with the visitor's key, and what came back. Text only: nothing of a page becomes markup.
const by = (id) => document.getElementById(id);
const key = by("key");
key.value = sessionStorage.getItem("key") ?? "";
key.addEventListener("input", () => sessionStorage.setItem("key", key.value));

const element = (name, text) => Object.assign(document.createElement(name), { textContent: text });

/** Only addresses of the web become links. */
function linkTo(url, text) {
  const link = element("a", text);
  if (/^https?:\/\//.test(url)) Object.assign(link, { href: url, rel: "noreferrer", target: "_blank" });
  return link;
}

function showAttempts(attempts = []) {
  by("attempts").hidden = attempts.length === 0;
  by("attempts").tBodies[0].replaceChildren(
    ...attempts.map(({ tier, status, reason, ms }) => {
      const row = document.createElement("tr");
      row.append(...[tier, status ?? "", reason, `${ms} ms`].map((cell) => element("td", cell)));
      return row;
    }),
  );
}

function showResults(results = []) {
  by("results").hidden = results.length === 0;
  by("results").replaceChildren(
    ...results.map(({ url, title, snippets }) => {
      const item = document.createElement("li");
      item.append(linkTo(url, title ?? url), element("div", snippets[0] ?? ""));
      return item;
    }),
  );
}

const detailOf = ({ detail }) => (typeof detail === "string" ? detail : JSON.stringify(detail));

function summaryOf(path, status, answer, ms) {
  const time = `${Math.round(ms)} ms`;
  if (status !== 200) return `HTTP ${status}: ${detailOf(answer)}`;
  if (answer.error)
    return `${answer.error}${answer.error_detail ? `: ${answer.error_detail}` : ""} (${time})`;
  if (path === "/v1/search") return `${answer.results.length} results by ${answer.provider} (${time})`;
  const from = answer.cached ? "the cache" : `route ${answer.tier}`;
  return `${answer.title ?? answer.final_url}: ${answer.bytes} bytes by ${from} (${time})`;
}

async function ask(path, body) {
  const text = JSON.stringify(body);
  by("answer").hidden = false;
  by("summary").className = "";
  by("summary").textContent = "Asking…";
  by("curl").textContent =
    `curl ${location.origin}${path} -H "Authorization: Bearer $TRAWL_KEY" -d '${text.replaceAll("'", "'\\''")}'`;
  const began = performance.now();
  let status = 0;
  let answer = { detail: "the service does not answer" };
  try {
    const reply = await fetch(path, {
      method: "POST",
      headers: { Authorization: `Bearer ${key.value.trim()}`, "Content-Type": "application/json" },
      body: text,
    });
    status = reply.status;
    answer = await reply.json();
  } catch {
    // Told below.
  }
  by("summary").textContent = summaryOf(path, status, answer, performance.now() - began);
  by("summary").className = status === 200 && !answer.error ? "" : "failed";
  showAttempts(answer.attempts);
  showResults(answer.results);
  by("text").hidden = !answer.text;
  by("text").textContent = answer.text ?? "";
  by("json").textContent = JSON.stringify(answer, null, 2);
}

for (const [form, field, path] of [
  ["search", "query", "/v1/search"],
  ["fetch", "url", "/v1/fetch"],
])
  by(form).addEventListener("submit", (event) => {
    event.preventDefault();
    void ask(path, { [field]: new FormData(event.target).get(field) });
  });
