/** Resources that a client can attach by address: a page, a job, and what the key has left. */
import { contentOf } from "./tool-errors.ts";
import { ToolError } from "./tool.ts";
import { callTool } from "./tools.ts";
import type { ToolContext } from "./tool.ts";

export const RESOURCES = [
  {
    uri: "quota://key",
    name: "quota",
    title: "What this key has left",
    description: "Requests and spend of this key's month",
    mimeType: "application/json",
  },
] as const;

/** The address of a page is percent-encoded: URL parsers of clients would read a bare one wrongly. */
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: "page://fetch/{url}",
    name: "page",
    title: "A web page",
    description: "A page as Markdown; its address percent-encoded",
    mimeType: "text/markdown",
  },
  {
    uriTemplate: "job://{job_id}",
    name: "job",
    title: "A job",
    description: "The state of a job and its first results",
    mimeType: "text/markdown",
  },
] as const;

/** Null: no such resource. Throws ToolError. */
export async function readResource(
  uri: string,
  context: Omit<ToolContext, "is_continued">,
): Promise<{ readonly mimeType: string; readonly text: string } | null> {
  if (uri === RESOURCES[0].uri) {
    const quota = await contentOf(context.ask, { method: "GET", path: "/v1/quota" });
    return { mimeType: "application/json", text: JSON.stringify(quota, null, 2) };
  }
  const [, kind, rest = ""] = /^(page:\/\/fetch\/|job:\/\/)(.+)$/.exec(uri) ?? [];
  if (kind === undefined) return null;
  const named = decoded(rest);
  const answer =
    kind === "job://"
      ? await callTool("job", { job_id: named.replace(/\/$/, "") }, context)
      : await callTool("fetch", { url: named }, context);
  const { text } = answer.content[0]!;
  if (answer.isError) throw new ToolError(String(answer.structuredContent["error"]), text);
  return { mimeType: "text/markdown", text };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
