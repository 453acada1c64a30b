/** The words of a list in a query parameter, which has commas between them. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
