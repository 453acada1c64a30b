/** Fields of this API in refusals, as the caller of theirs knows them. */
export const THEIR_NAMES: Readonly<Record<string, string>> = {
  timeout_s: "timeout",
  cache_ttl_s: "maxAge",
  include_selectors: "includeTags",
  exclude_selectors: "excludeTags",
  only_main_content: "onlyMainContent",
  accept_language: "location.languages",
  wait_for: "waitFor",
  screenshot_options: "formats.screenshot",
  max_depth: "maxDiscoveryDepth",
  ignore_query: "ignoreQueryParameters",
  include_subdomains: "includeSubdomains",
  max_results: "limit",
  idempotency_key: "x-idempotency-key",
};
