/** The requests of the guides in the languages of the clients: a curl command whose operation they have is shown as their call, too. */
import { clientSamples } from "../openapi/client-samples.ts";
import type { Operation } from "./api-document.ts";
import type { Sample } from "./markdown.ts";

const QUOTED_BODY = /(?:-d|--data-raw) '([^']*)'/;
const ADDRESS = /https?:\/\/127\.0\.0\.1:8080(\/v1\/[^\s'"]*)/;
const CURL = /^curl [^\n]*(?:\n +[^\n]*)*$/;

interface CurlRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Null: not one request of curl with a JSON body or none. */
function readCurl(source: string): CurlRequest | null {
  const command = source.replaceAll(/(?<!\s)\s+# .*$/gm, "").trim();
  const path = ADDRESS.exec(command)?.[1];
  if (!CURL.test(command) || path === undefined || command.includes("|") || command.includes(" -o "))
    return null;
  const body = QUOTED_BODY.exec(command)?.[1];
  if (body === undefined && /-d |--data/.test(command)) return null;
  const method = / -X (\w+)/.exec(command)?.[1] ?? (body === undefined ? "GET" : "POST");
  try {
    return { method, path, body: body === undefined ? {} : (JSON.parse(body) as CurlRequest["body"]) };
  } catch {
    return null;
  }
}

function paramsOf(template: string, path: string): Record<string, string> | null {
  const names: string[] = [];
  const pattern = template
    .replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      names.push(name);
      return "([^/]+)";
    });
  const found = new RegExp(`^${pattern}$`).exec(path);
  return found && Object.fromEntries(names.map((name, n) => [name, decodeURIComponent(found[n + 1]!)]));
}

/** `operations`: of clients. `url`: of this service. */
export const samplesIn =
  (operations: readonly Operation[], url: string) =>
  (source: string, lang: string): readonly Sample[] => {
    const request = lang === "sh" ? readCurl(source) : null;
    if (!request) return [];
    const [path = "", query = ""] = request.path.split("?");
    for (const { method, path: template, operationId } of operations) {
      const params = method === request.method ? paramsOf(template, path) : null;
      if (!params) continue;
      const fields = { ...params, ...Object.fromEntries(new URLSearchParams(query)), ...request.body };
      const calls = clientSamples(operationId, url, fields);
      if (!calls) return [];
      return [
        { label: "curl", lang: "sh", source },
        { label: "TypeScript", lang: "ts", source: calls.in_typescript },
        ...(calls.in_python === null ? [] : [{ label: "Python", lang: "python", source: calls.in_python }]),
      ];
    }
    return [];
  };
