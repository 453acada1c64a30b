/** The JSON Pointer (RFC 6901) of a member of what stands at `pointer`. */
export const memberAt = (pointer: string, name: string): string =>
  `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
