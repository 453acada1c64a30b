/** Open copies of papers by DOI, from a register with the API of Unpaywall (v2): request and answer. Pure functions. */
import { Type } from "typebox";
import { compiled } from "../../../../cluster/contracts/compiled.ts";
import { Nullable } from "../../../../schemas/common.ts";
import { addressOf } from "../../../reading/content/similarity.ts";

/** `api_url` does not end with a slash. The slash of a DOI is not escaped. */
export const unpaywallRequestUrl = (api_url: string, doi: string, email: string): string =>
  `${api_url}/${doi.split("/").map(encodeURIComponent).join("/")}?${new URLSearchParams({ email }).toString()}`;

const Place = Type.Object({
  url: Type.Optional(Nullable(Type.String())),
  url_for_pdf: Type.Optional(Nullable(Type.String())),
  url_for_landing_page: Type.Optional(Nullable(Type.String())),
});
const Paper = Type.Object({
  doi: Type.String(),
  title: Type.Optional(Nullable(Type.String())),
  is_oa: Type.Boolean(),
  best_oa_location: Type.Optional(Nullable(Place)),
  oa_locations: Type.Optional(Nullable(Type.Array(Place))),
});
const paper = compiled(Paper);

export interface OpenAccessPaper {
  readonly title: string | null;
  readonly places: readonly string[];
}

const MAX_PLACES = 3;

/** Where the paper can be read, best first; null when the answer is of another form or another paper. */
export function readUnpaywall(body: string, doi: string, accept_pdf: boolean): OpenAccessPaper | null {
  let answer: unknown = null;
  try {
    answer = JSON.parse(body);
  } catch {
    return null;
  }
  if (!paper.check(answer) || answer.doi.toLowerCase() !== doi) return null;
  const places = answer.is_oa ? [answer.best_oa_location ?? [], answer.oa_locations ?? []].flat() : [];
  const urls = places.flatMap(({ url, url_for_pdf, url_for_landing_page }) => {
    const page = url_for_landing_page ?? url;
    const address = accept_pdf ? (url_for_pdf ?? url ?? page) : page === url_for_pdf ? null : page;
    return typeof address === "string" && addressOf(address) !== null ? [address] : [];
  });
  return { title: answer.title ?? null, places: [...new Set(urls)].slice(0, MAX_PLACES) };
}
