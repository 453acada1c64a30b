/**
 * Weights, learned and not written: one for each number of a title's candidate, in the order of actors/reading/article/title.ts.
 * Made by `node bench/title.train.ts --write` from gold titles (WCXB by M. Foley, CC-BY-4.0) of which none is in here.
 */
export const TITLE_WEIGHTS: readonly number[] = [
  0.462, 0.432, 0.864, -0.382, 0.377, 0.239, -0.044, 0.265, 0.655, 0.388, -0.068, 0.261, 0.244, 0.025, 0.119,
  0.556, 0.18, 0.39, -0.334, 0.316, -0.06, 0.071, 0.486, 0.133, 0.466, 0.355, -0.578, 0.652, 0.071, -0.807,
  -0.508, -0.705, -0.342, -0.126, -0.71, -0.313, 0.138, 0.633, -0.024, -0.399, 0.152, -0.029, 0.148, 0.4,
  0.403, -0.084, -0.03, 0.436, 0.01, -0.146, -0.249, 0.359, 0.032, 0.32, 0.463, -0.211, -0.299, -0.128,
  -0.351, 0.832, 0.395, 0.287, 0.531, 0.222, 0.147, -0.005, -0.51, -0.288, 0.067, 0.042, 0.573, 0.581, -0.497,
  -0.315, 1.204, -0.566, -0.096,
];

/** SHA-256 of the weights as JSON, in hexadecimal. */
export const TITLE_WEIGHTS_SHA256 = "379073e040ffd65ecf7e24a20567143af23ff89aea3b0ab15099d3e9545df488";
