/** Refuses standard keys what belongs to the whole account. */
import type { Caller } from "../../../../gateway/authenticate.ts";
import { ADMIN_ONLY } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { isAdmin } from "../../../../schemas/accounts.ts";

export const adminOnly = ({ caller }: { readonly caller: Caller }): Reply | null =>
  isAdmin(caller.grant.key) ? null : ADMIN_ONLY;
