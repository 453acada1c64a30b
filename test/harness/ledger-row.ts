import { type LedgerRow, NO_DETAIL } from "../../schemas/ledger.ts";
import type { RowHead } from "../../schemas/ledger-batch.ts";
import type { RowAnswer } from "../../gateway/ledger.ts";

/** A row of the ledger, a page fetched by the service's own routes unless it says otherwise. */
export const ledgerRow = (more: Partial<LedgerRow> = {}): LedgerRow => ({
  request_id: "j:0",
  at_ms: Date.UTC(2026, 10, 21, 12),
  project: "p",
  key: "sk_aaaaaaa",
  category: "fetch_own",
  ok: true,
  latency_ms: 5,
  cached: false,
  bytes: 10,
  paid: false,
  cost_micros: 3,
  ...NO_DETAIL,
  ...more,
});

/** A row as a gateway writes it down. */
export const partsOf = ({
  request_id,
  at_ms,
  latency_ms,
  ...head
}: LedgerRow): readonly [RowHead, RowAnswer] => [head, { request_id, at_ms, latency_ms }];
