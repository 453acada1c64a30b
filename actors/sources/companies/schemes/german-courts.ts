/**
 * The German courts that keep a commercial register, with their codes of the public list of courts (XJustiz GDS.Gerichte).
 * A German register number is unique only together with its court. Not complete: a number of a court that is missing here
 * is understood only in the form that names the code, `M1201.HRA15378`.
 */
const COURTS: readonly (readonly [code: string, ...names: string[]])[] = [
  ["B8534", "Stuttgart"],
  ["B8535", "Mannheim"],
  ["B8536", "Freiburg im Breisgau", "Freiburg"],
  ["B8537", "Ulm"],
  ["D2102V", "Augsburg"],
  ["D2201V", "Deggendorf"],
  ["D2304V", "Kempten (Allgäu)", "Kempten"],
  ["D2404V", "Landshut"],
  ["D2505V", "Memmingen"],
  ["D2601V", "München"],
  ["D2803V", "Passau"],
  ["D2910V", "Traunstein"],
  ["D3101V", "Amberg"],
  ["D3201V", "Ansbach"],
  ["D3304V", "Fürth"],
  ["D3310V", "Nürnberg"],
  ["D3410V", "Regensburg"],
  ["D3413V", "Straubing"],
  ["D3508V", "Weiden in der Oberpfalz", "Weiden i. d. OPf.", "Weiden"],
  ["D4102V", "Aschaffenburg"],
  ["D4201V", "Bamberg"],
  ["D4301V", "Bayreuth"],
  ["D4401V", "Coburg"],
  ["D4501V", "Hof"],
  ["D4608V", "Schweinfurt"],
  ["D4708V", "Würzburg"],
  ["D5701V", "Ingolstadt"],
  [
    "F1103R",
    "Charlottenburg (Berlin)",
    "Berlin (Charlottenburg)",
    "Berlin Charlottenburg",
    "Charlottenburg",
    "Berlin",
  ],
  ["G1103", "Cottbus"],
  ["G1207", "Frankfurt (Oder)", "Frankfurt/Oder"],
  ["G1309", "Neuruppin"],
  ["G1312", "Potsdam"],
  ["H1101", "Bremen"],
  ["K1101R", "Hamburg"],
  ["M1103", "Darmstadt"],
  ["M1114", "Offenbach am Main", "Offenbach"],
  ["M1201", "Frankfurt am Main", "Frankfurt"],
  ["M1202", "Bad Homburg v. d. Höhe", "Bad Homburg"],
  ["M1203", "Königstein im Taunus", "Königstein"],
  ["M1301", "Fulda"],
  ["M1305", "Bad Hersfeld"],
  ["M1405", "Friedberg (Hessen)", "Friedberg"],
  ["M1406", "Gießen"],
  ["M1502", "Hanau"],
  ["M1602", "Eschwege"],
  ["M1603", "Fritzlar"],
  ["M1607", "Kassel"],
  ["M1608", "Korbach"],
  ["M1706", "Limburg a. d. Lahn", "Limburg an der Lahn", "Limburg"],
  ["M1710", "Wetzlar"],
  ["M1809", "Marburg"],
  ["M1906", "Wiesbaden"],
  ["N1105V", "Neubrandenburg"],
  ["N1206V", "Rostock"],
  ["N1209V", "Stralsund"],
  ["N1308V", "Schwerin"],
  ["P1103", "Braunschweig"],
  ["P2106", "Stadthagen"],
  ["P2204", "Göttingen"],
  ["P2305", "Hannover"],
  ["P2408", "Hildesheim"],
  ["P2507", "Lüneburg"],
  ["P2613", "Tostedt"],
  ["P2716", "Walsrode"],
  ["P3101", "Aurich"],
  ["P3210", "Oldenburg"],
  ["P3313", "Osnabrück"],
  ["R1101", "Düsseldorf"],
  ["R1102", "Neuss"],
  ["R1202", "Duisburg"],
  ["R1304", "Kleve"],
  ["R1402", "Krefeld"],
  ["R1504", "Mönchengladbach"],
  ["R1608", "Wuppertal"],
  ["R1901", "Arnsberg"],
  ["R2101", "Bielefeld"],
  ["R2103", "Gütersloh"],
  ["R2108", "Bad Oeynhausen"],
  ["R2201", "Bochum"],
  ["R2204", "Recklinghausen"],
  ["R2307", "Lemgo"],
  ["R2402", "Dortmund"],
  ["R2404", "Hamm"],
  ["R2503", "Essen"],
  ["R2507", "Gelsenkirchen"],
  ["R2602", "Hagen"],
  ["R2604", "Iserlohn"],
  ["R2706", "Steinfurt"],
  ["R2707", "Coesfeld"],
  ["R2713", "Münster"],
  ["R2809", "Paderborn"],
  ["R2909", "Siegen"],
  ["R3101", "Aachen"],
  ["R3103", "Düren"],
  ["R3201", "Bonn"],
  ["R3208", "Siegburg"],
  ["R3306", "Köln"],
  ["T2101V", "Bad Kreuznach"],
  ["T2210V", "Koblenz"],
  ["T2214V", "Montabaur"],
  ["T2304V", "Mainz"],
  ["T2408V", "Wittlich"],
  ["T3104V", "Ludwigshafen am Rhein", "Ludwigshafen a. Rhein", "Ludwigshafen"],
  ["T3201V", "Kaiserslautern"],
  ["T3304V", "Landau in der Pfalz", "Landau"],
  ["T3403V", "Zweibrücken"],
  ["U1104", "Dresden"],
  ["U1206", "Chemnitz"],
  ["U1308", "Leipzig"],
  ["V1109", "Saarbrücken"],
  ["W1215", "Stendal"],
  ["X1112", "Flensburg"],
  ["X1321", "Pinneberg"],
  ["X1517", "Kiel"],
  ["X1721", "Lübeck"],
  ["Y1206V", "Jena"],
];

/** Courts are compared without case, diacritics, blanks and punctuation, with ü written ü or ue. */
const courtKey = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll(/[äöü]/g, (vowel) => `${{ ä: "a", ö: "o", ü: "u" }[vowel]!}e`)
    .replaceAll(/[^a-z]/g, "");

const CODES: ReadonlyMap<string, string> = new Map(
  COURTS.flatMap(([code, ...names]) => names.map((name) => [courtKey(name), code] as const)),
);
const NAMES: ReadonlyMap<string, string> = new Map(COURTS.map(([code, name]) => [code, name!] as const));

export const courtNameOf = (code: string): string | undefined => NAMES.get(code);

const NUMBER = String.raw`(?<type>HRA|HRB|GNR|PR|VR|GSR)[\s.:-]*(?<digits>[0-9]{1,7})\s*(?<suffix>[A-Z]{0,3})`;
const COURT = String.raw`(?:(?:AMTSGERICHT|AG|REGISTERGERICHT)[\s:]+)?(?<court>[^0-9]+?)`;
const FORMS = [
  new RegExp(String.raw`^${COURT}[\s,:]+${NUMBER}$`),
  new RegExp(String.raw`^${NUMBER}[\s,(]+${COURT}\)?$`),
];

/**
 * `Amtsgericht München HRB 6684` and `HRB 6684 (Amtsgericht München)` as `D2601V.HRB6684`. Null: the text is of another
 * form, or its court is not in the table.
 */
export function germanRegisterNumber(text: string): string | null {
  // Not toUpperCase: ß would become SS, and the court's name is compared without case anyway.
  const plain = text.trim().replaceAll(/[a-zäöü]/g, (letter) => letter.toUpperCase());
  for (const form of FORMS) {
    const { court = "", type, digits, suffix } = form.exec(plain)?.groups ?? {};
    const code = CODES.get(courtKey(court));
    if (code !== undefined) return `${code}.${type}${digits}${suffix}`;
  }
  return null;
}
