/** Text between tags, without a parser. */

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };

/** Named and numbered characters decoded, white space collapsed. Akamai writes even the full stops of its reference number as `&#46;`. */
export function spaced(text: string): string {
  return text
    .replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(amp|lt|gt|quot|nbsp));/gi, (_, decimal, hex, name: string) =>
      name ? NAMED[name.toLowerCase()]! : String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16)),
    )
    .replace(/\s+/g, " ")
    .trim();
}
