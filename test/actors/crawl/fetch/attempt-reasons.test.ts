import { expect, test } from "vitest";
import { ATTEMPT_REASON_CLASSES, attemptReasonClass } from "../../../../schemas/attempt-reasons.ts";

test.each([
  ["ok", "ok"],
  ["http_403", "http_4xx"],
  ["http_503", "http_5xx"],
  ["dns_nxdomain", "dns"],
  ["archive_not_found", "not_found"],
  ["archive_blocked_paywall", "paywall"],
  ["proxy_render_busy", "busy"],
  ["pdf_download_timeout", "timeout"],
  ["premium_skipped_domain_refuses", "premium"],
  ["robots_disallowed", "robots"],
  ["selector_not_found", "incomplete"],
  ["screenshot_failed", "incomplete"],
  ["action_failed", "incomplete"],
  ["http_99999", "other"],
  ["what no version has", "other"],
])("%j counts as %j", (reason, of) => {
  expect(attemptReasonClass(reason)).toBe(of);
});

test("each class has one name", () => {
  expect(new Set(ATTEMPT_REASON_CLASSES).size).toBe(ATTEMPT_REASON_CLASSES.length);
});
