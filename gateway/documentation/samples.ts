/** The requests of the guides in the languages of the clients: a curl command whose operation they have is shown as their call, too. */
import { clientSamples } from "../openapi/client-samples.ts";
import { router } from "../route.ts";
import type { Operation } from "./api-document.ts";
import { type Sample, sampleOf } from "./markdown.ts";

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

/** `operations`: of clients. `url`: of this service. */
export function samplesIn(
  operations: readonly Operation[],
  url: string,
): (source: string, lang: string) => readonly Sample[] {
  const find = router(operations);
  return (source, lang) => {
    const request = lang === "sh" ? readCurl(source) : null;
    const [path = "", query = ""] = request?.path.split("?") ?? [];
    const match = find(path);
    const operation = request && match?.path.routes.get(request.method);
    if (!operation) return [];
    const fields = { ...match!.params, ...Object.fromEntries(new URLSearchParams(query)), ...request.body };
    const calls = clientSamples(operation.operationId, url, fields);
    if (!calls) return [];
    return [
      sampleOf("sh", source),
      sampleOf("ts", calls.in_typescript),
      ...(calls.in_python === null ? [] : [sampleOf("python", calls.in_python)]),
    ];
  };
}
