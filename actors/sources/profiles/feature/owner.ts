/** The owner of the profile site's hosts, by the name that messages have for it. */
export const PROFILE_OWNER = "the profile site";
