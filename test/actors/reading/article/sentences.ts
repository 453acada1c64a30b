/** Sentences that are certainly the text of a page. */
export const SENTENCES = [
  "The boats come in at dawn, when the tide is high enough for their keels, and the harbour master counts them from the tower.",
  "By noon the fish has been sold, the nets hang over the wall to dry, and the cats of the town have had their share of it.",
  "In winter nobody sails: the men mend what the summer broke, and the women keep the light that shows the rocks to strangers.",
] as const;
