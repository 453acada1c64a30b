/** Reading strings unit by unit, in loops that see every text of a page. */

/**
 * The UTF-16 unit at a place within a text: `text.charCodeAt(at)` without looking for the method. V8 keeps texts in a dozen forms
 * (cut out, joined, of one or two bytes a unit), and code that has met more than four of them looks for `charCodeAt` and `length`
 * again at each unit. Loops with this function read the length once.
 */
export const codeAt: (text: string, at: number) => number = Function.prototype.call.bind(
  // oxlint-disable-next-line typescript/unbound-method -- it is bound to `call`, which takes the text
  String.prototype.charCodeAt,
);
