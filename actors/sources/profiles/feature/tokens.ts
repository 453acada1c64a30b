/** Tokens that profiles give to other features. */
import { token } from "../../../../node/token.ts";
import type { ProfileBody } from "../../../../schemas/profiles.ts";
import type { ProfilesCaller, ProfilesResult } from "../service.ts";

/** Reads a company's profile. Throws Fault. */
export type ReadProfile = (fields: ProfileBody, caller: ProfilesCaller) => Promise<ProfilesResult>;

/** Null: profiles are off. */
export const Profiles = token<ReadProfile | null>("profiles");
