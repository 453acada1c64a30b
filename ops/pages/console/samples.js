/** A request as a command and as programs, to copy. The key is a variable of the environment in all of them. */
const CALLS = {
  "/v1/fetch": ["fetch", "url", false],
  "/v1/search": ["search", "query", false],
  "/v1/map": ["map", "url", false],
  "/v1/crawl": ["crawl", "url", true],
};

const python = (value) =>
  JSON.stringify(value, null, 0)
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, at) =>
      at % 2 === 1
        ? part
        : part.replace(
            /\b(true|false|null)\b/g,
            (word) => ({ true: "True", false: "False", null: "None" })[word],
          ),
    )
    .join("");

export function samplesOf(path, body, origin) {
  const [name, first, isMany] = CALLS[path];
  const { [first]: subject, ...options } = body;
  const hasOptions = Object.keys(options).length > 0;
  const in_typescript = `trawl.${name}(${JSON.stringify(subject)}${hasOptions ? `, ${JSON.stringify(options)}` : ""})`;
  const named = Object.entries(options).map(([field, value]) => `, ${field}=${python(value)}`);
  const in_python = `trawl.${name}(${JSON.stringify(subject)}${named.join("")})`;
  return {
    curl: `curl ${origin}${path} -H "Authorization: Bearer $TRAWL_KEY" \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    TypeScript: [
      'import { Trawl } from "@trawl/client";',
      "",
      `const trawl = new Trawl({ url: ${JSON.stringify(origin)}, key: process.env.TRAWL_KEY! });`,
      isMany
        ? `for await (const entry of ${in_typescript}) console.log(entry);`
        : `console.log(await ${in_typescript});`,
    ].join("\n"),
    Python: [
      "import os",
      "",
      "from trawl_client import Trawl",
      "",
      `trawl = Trawl(url=${JSON.stringify(origin)}, key=os.environ["TRAWL_KEY"])`,
      isMany ? `for entry in ${in_python}:\n    print(entry)` : `print(${in_python})`,
    ].join("\n"),
  };
}
