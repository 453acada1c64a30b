/**
 * The category of a legal form of the ELF list (ISO 20275) by the words of its name: rules in order, the first that fits. It is
 * asked when the list is renewed; the register reads the categories from the file that is written then. Pure.
 */
import { foldName } from "../../actors/sources/companies/names/fold.ts";
import { legalFormCategory } from "../../actors/sources/companies/names/legal-forms.ts";

/**
 * By the folded name and its folded transliteration. The order decides: a branch of a fund is a branch, a cooperative with limited
 * liability is a cooperative, and only words of public law make a government of "public".
 */
const RULES: readonly (readonly [category: string, words: string])[] = [
  [
    "branch",
    "branch|filial|zweigniederlassung|succursale|sucursal|sucursala|bijkantoor|representative office|permanent establishment|oddzial|pobocka|organizacna zlozka|podruznica|buitenlands recht|oversea company|foreign (?:company|corporation|entity|firm)|auslandisch|utenlandsk|utlandsk|overseas",
  ],
  [
    "european_company",
    "societas europaea|europa\\w* (?:aktien)?gesellschaft se|\\bsce?$|evropufelag|europos bendrov|evropaiki etair|societas cooperativa europaea|societe europeenne|sociedad europea|societa europea|sociedade europeia|spolka europejska|europaische (?:gesellschaft|aktiengesellschaft|genossenschaft)|europese vennootschap|europeisk selskap|europabolag|eurooppayhtio|eurooppa osuuskunta|evropska spolecnost|europska spolocnost|europai reszvenytarsasag|societate europeana|europaeisk selskab|evropsk\\w+ druz",
  ],
  [
    "foundation",
    "fonds de dotation|fonds de perennite|stiftung|foundation|stichting|fondation|fundacion|fundacao|fundacja|fondazione|saatio|stiftelse|\\bnadac|alapitvany|fundatie|fundatia|sihtasutus|\\bzaklada\\b|zadruzbina|ji jin hui|blagotvoritel\\w+ fond|\\bfond$|fondatsi|vakif|waqf|wakaf|sjalfseignarstofnun|fundacio|nodibinajums|fondas\\b",
  ],
  [
    "fund",
    "\\bfunds?\\b|\\bfonds\\b|\\bfondo|\\bfundo|fundusz|investeringsforening|\\bsicav|\\bsicaf|placement collectif|sondervermogen|investment (?:company|trust)|investmentgesellschaft|investmentaktiengesellschaft|investmentkommanditgesellschaft|beleggings|sijoitusrahasto|elakerahasto|\\brahasto|pensjonskasse|pensionskasse|vardepappersfond|verdipapirfond|capital variable.*inversion|investicni fond|podilovy fond|podielovy fond|befektetesi alap|inversion colectiva|collective investment|capital investissement|investissement (?:a capital|immobilier)|investimento|spetsialen fond|investitsionn|unit trust",
  ],
  [
    "cooperative",
    "co ?operat|kooperat|genossenschaft|cooperativ|osuuskunta|osuuspankki|andelslag|andelsselskab|andelsforening|samvirke|spoldzieln|druzstvo|szovetkezet|\\bzadrug|uhistu|kooperatyv|kumiai|credit union|ekonomisk forening|samvinnufelag|saving and credit|cooper\\b",
  ],
  ["trust", "\\btrust\\b|\\btrusts\\b|treuhand|treuunternehmen|fiducie|fideicomiso|fideicomisso"],
  [
    "sole_proprietor",
    "sole (?:proprietor|trader)|proprietorship|einzelunternehm|einzelkauf|einzelfirma|eingetragene[rn]? kauf|eenmanszaak|entreprise individuelle|entrepreneur individuel|raison individuelle|empresario individual|empresa individual(?! de resp)|nome individual|imprenditore individuale|impresa individuale|ditta individuale|enkeltpersonforetak|enkeltmandsvirksomhed|enskild|elinkeinonharjoittaja|toiminimi|fyzick\\w+ osob|osoba fyzicka|egyeni (?:vallalkozo|ceg)|individual\\w* (?:entrepreneur|enterprise|predpri\\w+)|\\w+ predprinimatel|fuusilisest isikust|persoana fizica|samostojni podjetnik|comerciante individual|individuali imone|individualais|einzelperson|natural person|intreprindere individuala|ssal firma|kojin",
  ],
  [
    "limited_partnership",
    "investment limited partnership|limited liability (?:limited )?partnership|limited partnership|\\bl ?l ?p\\b|kommandit(?!\\w* auf aktien)(?!aktie)|commandite simple|comandita simple|commanditaire vennootschap(?! op aandelen)|accomandita semplice|comandita(?!\\w* (?:por|per|pe) ac)|spolka komandytowa|komandytowa|komanditn|beteti tarsasag|usaldusuhing|komandit|kommandiittiyhtio|samlagsfelag|tovarishchestvo na vere|special partnership|goshi|partnership in commendam|societe en commandite speciale",
  ],
  [
    "general_partnership",
    "general partnership|offene (?:handels|erwerbs)?gesellschaft|burgerlichen rechts|einfache gesellschaft|partnerschaftsgesellschaft|partnerschaft|kollektivgesellschaft|nom collectif|sociedad(?:es)? (?:regular )?colectiva|nombre colectivo|nome collettivo|nome coletivo|onder firma|maatschap\\b|avoin yhtio|interessentskab|ansvarlig selskap|handelsbolag|enkelt bolag|spolka (?:jawna|partnerska|cywilna)|jawna|verejn\\w+ obchodn|kozkereseti|nume colectiv|taisuhing|pilnsabiedriba|tikroji ukine|javno trgovacko|neomejeno odgovornostjo|polnoe tovarishchestvo|sociedad civil|societe civile|societa semplice|sameignarfelag|gomei|sociedade simples|partnership$|partnership\\b(?!.*limited)",
  ],
  [
    "private_limited",
    "einkahlutafelag|uzdaroji|zartkoru|zakrytoe|prosta spolka|par actions simplifiee|por acciones simplificada|simplified joint|private|sendirian|beschrankte[rn]? haftung|unternehmergesellschaft|flexible kapital|responsabilite limitee|responsab\\w+ (?:l|li?mitada|limitada)|responsab\\w+ limitata|raspundere limitata|beperkte aansprakelijkheid|besloten vennootschap|anpartsselskab|iva?erksaetterselskab|aksjeselskap(?<!allmennaksjeselskap)|ograniczon|rucenim (?:obmedzenym|omezenym)|rucenim|korlatolt felelossegu|omejeno|ogranicen\\w+ odgovorno|ogranichen\\w+ otg?vet?\\w+|ogranichen|obmezhen|osauhing|ierobezotu|limited liability compan|limited company(?<!public limited company)|company limited by (?:guarantee|shares)(?<!public company limited by (?:guarantee|shares))|unlimited company|proprietary|limited sirket|you xian ze ren|you xian gong si(?<!gu fen you xian gong si)|godo|yugen|yuhan|periorismenis|idiotiki kefalaiouchiki|designated activity|community interest",
  ],
  [
    "public_limited",
    "public (?:limited|company|joint)|publikt|publichn\\w+ akts|aktiengesellschaft|auf aktien|aktieselskab|partnerselskab|allmennaksjeselskap|societe anonyme|sociedad anonima|sociedade anonima|societa (?:per azioni|in accomandita per azioni|anonima)|commandite par actions|comandita (?:por|per|pe) ac|op aandelen|pe actiuni|naamloze|julkinen|akcyjna|akciov|akcionar|delnisk|aktsiaselts|akciju|akcine bendrove|reszvenytarsasag|anonim sirket|aktsioner|aktsionern|joint stock|joint stock|kabushiki|gu fen|jusik|anonymi|anonymos|\\bplc\\b|berhad|hlutafelag|exempt company limited by shares|por acciones|par actions|komanditaktie|kommanditaktie",
  ],
  ["public_limited", "^(?:autre )?sa (?:a|d|de)\\b"],
  [
    "private_limited",
    "\\bllc\\b|^sas\\b|aktiebolag|osakeyhtio|profit corporation(?<!non profit corporation)(?<!nonprofit corporation)|trach nhiem huu han|sarl\\b|\\blimited$|\\bltd\\b",
  ],
  [
    "association",
    "ideell forening|religious corporation|non ?profit|personne morale sans but|nekommerc|associat|associac|asociac|associaz|asociati|verein(?!igung)|vereinigung|vereniging|forening(?!en)|yhdistys|stowarzyszeni|sdruzeni|zdruzeni|egyesulet|udrug|udruzenj|mittetulundus|biedriba|asociacija|syndicat|\\bverband|societ(?:y|ies)\\b|\\bclub\\b|\\bspolek\\b|samenslutning|obedinenie|zwiazek|non ?profit|not for profit|church|kirkko|parish|felagasamtok|gakko|shadan|zaidan|stowarzysz|dernek|sindicato",
  ],
  [
    "government",
    "public law|offentlichen rechts|droit public|derecho publico|diritto pubblico|direito publico|publiekrechtelijk|state owned|state (?:enterprise|institution|agency|company)|government|municipal|gemeinde|\\bcommune|\\bkommun(?!\\w*ind)|unitar\\w+ (?:enterprise|predpri)|gosudarstven|derzhavn|statutory (?:body|corporation)|\\bministr|etablissement public|organismo publico|organismo autonomo|ente pubblico|entidade publica|entidad publica|panstwow|\\bstatni\\b|\\bstatny\\b|statlig|statens|budzhet|budget|empresa (?:publica|estatal)|valtion|collectivite territoriale|rechtsform des offentlichen|gebietskorperschaft|anstalt des|autorit",
  ],
  ["limited_partnership", "partnership.*limited"],
  ["government", "\\bpublic\\w*|\\boffentlig|javna|kamu|rozpoctov|obecn\\w+ podnik"],
];

const PATTERNS = RULES.map(([category, words]) => [category, new RegExp(words)] as const);

interface NamedForm {
  readonly names: readonly string[];
  readonly abbreviations: readonly string[];
  readonly country: string | null;
}

/** Null: no rule knows a word of it. */
export function categoryOfForm({ names, abbreviations, country }: NamedForm): string | null {
  const folded = names.map((name) => foldName(name.normalize("NFKD").replaceAll(/\p{M}/gu, "")));
  for (const [category, pattern] of PATTERNS) if (folded.some((name) => pattern.test(name))) return category;
  for (const text of [...names, ...abbreviations]) {
    const category = legalFormCategory(text, country);
    if (category !== null) return category;
  }
  return null;
}
