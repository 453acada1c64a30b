/** The request that the gateway makes of a body with nothing but an address. */
import type { FetchRequest } from "../../schemas/fetch.ts";

export const DEFAULT_REQUEST: Omit<FetchRequest, "fetch_id" | "deadline_ms"> = {
  url: "http://example.org/",
  render: "auto",
  max_bytes: 15_728_640,
  max_pdf_bytes: 15_728_640,
  accept_pdf: true,
  cache_ttl_s: null,
  min_text_chars: 500,
  allow_archive: true,
  allow_alternates: true,
  allow_paid: true,
  tiers: null,
  country: null,
  user_agent: null,
  accept_language: null,
  lane: "sync",
  project: "default",
  hard_deadline: false,
};
