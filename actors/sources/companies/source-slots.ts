/** The slots of the sources, by source and egress. */
import { collection } from "../../../cluster/collection.ts";
import type { SlotRecord } from "../upstream/slots.ts";

export const SOURCE_SLOTS = collection<SlotRecord>("company_source_slots");
