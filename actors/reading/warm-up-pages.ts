/**
 * Pages that a new reader reads before its first task, so that V8 has compiled the code of a page by then: an article, a
 * forum, a listing, a product, documentation, a table, and articles in Chinese, Japanese, Arabic, Russian, Polish and
 * German, and then pages of odd markup and nearly empty ones. The pages are written for this purpose, name no person, and are never served; what is read of them is thrown away.
 */

interface Language {
  readonly code: string;
  readonly title: string;
  readonly sentences: readonly string[];
}

const ENGLISH: Language = {
  code: "en",
  title: "The harbour returns two cranes to service before autumn",
  sentences: [
    "The harbour office said on Tuesday that the two cranes will return to service before the autumn storms begin.",
    "Engineers replaced the bearings of both machines, a repair that had been planned since the inspection of last year.",
    "Until then ships with heavy freight are unloaded at the northern quay, where the water is deep enough for most of them.",
    "“We lost four weeks because a single part was late,” said the head of the workshop, “but the rest went as it should.”",
    "The cost of 1.4 million is paid by the port, which expects to earn it back within three years.",
    "Fishermen asked for a smaller crane as well; a decision about it is expected in the spring.",
  ],
};

const LANGUAGES: readonly Language[] = [
  {
    code: "de",
    title: "Zwei Kräne kehren vor dem Herbst zurück",
    sentences: [
      "Das Hafenamt teilte am Dienstag mit, dass die beiden Kräne noch vor den Herbststürmen wieder arbeiten werden.",
      "Fachleute tauschten die Lager beider Maschinen aus; geplant war das seit der Prüfung im vergangenen Jahr.",
      "Bis dahin werden Schiffe mit schwerer Ladung am nördlichen Kai gelöscht, wo das Wasser tief genug ist.",
    ],
  },
  {
    code: "pl",
    title: "Dwa dźwigi wracają do portu przed jesienią",
    sentences: [
      "Zarząd portu poinformował we wtorek, że oba dźwigi wrócą do pracy jeszcze przed jesiennymi sztormami.",
      "Inżynierowie wymienili łożyska w obu maszynach, a naprawę planowano od ubiegłorocznego przeglądu.",
      "Do tego czasu statki z ciężkim ładunkiem są rozładowywane przy północnym nabrzeżu, gdzie woda jest głęboka.",
    ],
  },
  {
    code: "ru",
    title: "Два крана вернутся в порт до осени",
    sentences: [
      "Управление порта сообщило во вторник, что оба крана снова начнут работать до осенних штормов.",
      "Инженеры заменили подшипники обеих машин; ремонт планировали после прошлогодней проверки.",
      "До тех пор суда с тяжёлым грузом разгружают у северного причала, где достаточно глубоко.",
    ],
  },
  {
    code: "zh",
    title: "港口两台起重机将于秋季前恢复使用",
    sentences: [
      "港务局星期二表示，两台起重机将在秋季风暴来临之前恢复使用，码头的装卸工作届时会恢复正常。",
      "工程师更换了两台机器的轴承，这项维修自去年检查以来一直在计划之中，费用由港口承担。",
      "在此之前，载有重货的船只在北码头卸货，那里的水深足以停靠大多数船只。",
    ],
  },
  {
    code: "ja",
    title: "港のクレーン二基が秋までに復帰",
    sentences: [
      "港湾事務所は火曜日、二基のクレーンが秋の嵐が来る前に運転を再開すると発表しました。",
      "技術者は両方の機械の軸受を交換しました。この修理は昨年の点検以来計画されていたものです。",
      "それまでの間、重い貨物を積んだ船は水深の十分な北側の岸壁で荷を下ろします。",
    ],
  },
  {
    code: "ar",
    title: "رافعتان تعودان إلى الميناء قبل الخريف",
    sentences: [
      "أعلنت إدارة الميناء يوم الثلاثاء أن الرافعتين ستعودان إلى العمل قبل بداية عواصف الخريف.",
      "استبدل المهندسون محامل الآلتين، وكان هذا الإصلاح مخططا له منذ تفتيش العام الماضي.",
      "وحتى ذلك الحين تفرغ السفن ذات الحمولة الثقيلة عند الرصيف الشمالي حيث المياه عميقة بما يكفي.",
    ],
  },
];

const repeated = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join("\n");

const sentence = ({ sentences }: Language, index: number): string => sentences[index % sentences.length]!;

const paragraphs = (language: Language, count: number): string =>
  repeated(
    count,
    (index) =>
      `<p>${sentence(language, index)} <a href="/notes/${index}">${sentence(language, index + 1)}</a> <em>${sentence(language, index + 2)}</em></p>`,
  );

/** A page with the furniture that pages have: head, menu, sidebar, scripts, footer. */
function page(language: Language, body: string): string {
  const { code, title } = language;
  const menu = repeated(
    14,
    (index) => `<li class="nav-item"><a href="/topic/${index}">Topic ${index}</a></li>`,
  );
  const related = repeated(
    8,
    (index) =>
      `<div class="card teaser"><a href="/story/${index}"><img src="/i/${index}.jpg" alt="Picture ${index}"><h3>${sentence(language, index)}</h3></a><span class="date">${index + 1} May 2025</span></div>`,
  );
  return `<!doctype html><html lang="${code}"><head><meta charset="utf-8"><title>${title} | Example Harbour</title>
<meta name="description" content="${sentence(language, 0)}"><meta property="og:title" content="${title}">
<meta property="og:type" content="article"><meta property="article:published_time" content="2025-05-06T08:30:00Z">
<meta name="author" content="Example Author"><link rel="canonical" href="https://harbour.example/story">
<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","headline":"${title}","datePublished":"2025-05-06T08:30:00Z","author":{"@type":"Person","name":"Example Author"}}</script>
<style>.hidden{display:none} .card{margin:0}</style><script>window.settings = {page: "story"};</script></head>
<body class="single post-template"><header id="header"><div class="logo"><a href="/">Example Harbour</a></div><nav class="menu"><ul>${menu}</ul></nav></header>
<div class="cookie-notice hidden"><p>We use cookies. <button>Accept</button></p></div>
<main id="content">${body}</main>
<aside class="sidebar"><h2>Related</h2>${related}<form action="/subscribe"><label>Newsletter</label><input name="email"></form></aside>
<footer class="site-footer"><ul>${menu}</ul><p>© 2025 Example Harbour &middot; <a href="/terms">Terms</a> &amp; <a href="/privacy">Privacy</a></p></footer>
</body></html>`;
}

const article = (language: Language): string =>
  page(
    language,
    `<article class="post"><h1>${language.title}</h1><div class="byline">By <a rel="author" href="/a">Example Author</a>, <time datetime="2025-05-06">6 May 2025</time></div>
<figure><img src="/crane.jpg" alt="A crane"><figcaption>${sentence(language, 0)}</figcaption></figure>
${paragraphs(language, 6)}<h2>${sentence(language, 1)}</h2>${paragraphs(language, 4)}
<blockquote><p>${sentence(language, 2)}</p></blockquote><ul>${repeated(5, (index) => `<li>${sentence(language, index)}</li>`)}</ul>
<div class="share"><a href="#">Share</a><a href="#">Print</a></div></article>
<section class="comments"><h3>Comments</h3>${repeated(4, (index) => `<div class="comment" id="c${index}"><span class="author">Reader ${index}</span><time>7 May 2025</time><p>${sentence(language, index)}</p><a href="#">Reply</a></div>`)}</section>`,
  );

const FORUM = `<h1>Which bearing for an old crane?</h1><div class="thread">${repeated(12, (index) => `<div class="post" id="p${index}"><div class="post-author"><a href="/u/${index}">member${index}</a><span>Posts: ${index * 7}</span></div><div class="post-date">6 May 2025, 1${index % 10}:30</div><div class="post-body"><blockquote>${sentence(ENGLISH, index + 1)}</blockquote><p>${sentence(ENGLISH, index)} ${sentence(ENGLISH, index + 3)}</p></div><div class="signature">Greetings</div><a href="#">Quote</a></div>`)}</div><div class="pagination"><a href="?p=2">2</a><a href="?p=3">3</a></div>`;
const LISTING = `<h1>Parts in stock</h1><div class="filters"><label><input type="checkbox">New</label></div><div class="grid">${repeated(24, (index) => `<div class="card product"><a href="/part/${index}"><img src="/p/${index}.jpg" alt="Part ${index}"><h2>Bearing ${index}</h2></a><p class="price">€ ${index}9.90</p><p>${sentence(ENGLISH, index)}</p><button>Add to basket</button></div>`)}</div>`;
const PRODUCT = `<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Bearing 40 mm</h1><div class="price" itemprop="price">€ 49.90</div><button>Add to basket</button><div class="description"><h2>Description</h2>${paragraphs(ENGLISH, 3)}</div><table class="specs">${repeated(9, (index) => `<tr><th>Property ${index}</th><td>${index * 5} mm</td></tr>`)}</table><div class="reviews"><h2>Reviews</h2>${repeated(5, (index) => `<div class="review"><b>Buyer ${index}</b><p>${sentence(ENGLISH, index)}</p></div>`)}</div></div>`;
const DOCUMENTATION = `<div class="breadcrumbs"><a href="/docs">Docs</a> / Install</div><h1>Install the controller</h1>${repeated(6, (index) => `<h2 id="s${index}">Step ${index}<a class="anchor" href="#s${index}">¶</a></h2><p>${sentence(ENGLISH, index)} Use <code>controller --step ${index}</code>.</p><pre><code class="language-sh">controller start --crane ${index}\ncontroller status</code></pre><dl><dt><code>--crane</code></dt><dd>${sentence(ENGLISH, index + 2)}</dd></dl>`)}<ol>${repeated(6, (index) => `<li><a href="#s${index}">Step ${index}</a></li>`)}</ol>`;
const TABLE = `<h1>Ships of May</h1><p>${sentence(ENGLISH, 2)}</p><table><caption>Arrivals</caption><thead><tr><th>Day</th><th>Ship</th><th>Freight (t)</th></tr></thead><tbody>${repeated(40, (index) => `<tr><td>${(index % 30) + 1} May 2025</td><td><a href="/ship/${index}">Ship ${index}</a></td><td>${index * 310}</td></tr>`)}</tbody></table>`;

/**
 * Odd markup: tags left open or closed twice, references to characters, scripts that do not parse, hidden and foreign elements, text in
 * two-byte characters. V8 drops optimised code when a page shows it a branch or a kind of value for the first time, and optimises it anew.
 */
const ODD_HEAD = `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><HTML class='no-js' xmlns=http://www.w3.org/1999/xhtml><HEAD><BASE HREF="https://harbour.example/a/"><meta http-equiv=Content-Type content='text/html; charset=utf-8'>
<TITLE>Cranes &amp; quays &#8211; return &raquo; Notes &#x2013; Harbour &unknown; Office</TITLE><meta name="twitter:title" content="Cranes &amp; quays return"><meta name="citation_title" content="Cranes return: a note"><meta name="dc.date" content="6.5.2025"><meta property="og:site_name" content="Harbour Office">
<meta name="robots" content="noindex"><meta name="keywords" content="cranes, quays"><meta property="og:locale" content="en_GB"><link rel="alternate" hreflang="de" href="/de/"><link rel=amphtml href=amp><link rel="next" href="?page=2">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":["WebPage","CollectionPage"],"name":"Cranes","breadcrumb":{"@type":"BreadcrumbList","itemListElement":[{"@type":"ListItem","position":1,"name":"Home"}]}},{"@type":"BlogPosting","headline":"Cranes &amp; quays","isAccessibleForFree":"False","hasPart":{"@type":"WebPageElement","isAccessibleForFree":false,"cssSelector":".locked"},"author":[{"@type":"Organization","name":"Harbour Office"},"A Writer"],"dateModified":"2025-05-07","keywords":["a","b"],"image":["/a.jpg"]}]}</script>
<script type="application/ld+json">{"@type": "Article", "headline": "not closed</script><script>if (1 < 2) document.write("<p>no</p>")</script><noscript><img src=/pixel.gif></noscript>
<style>.a,.b > .c{display:none} @media print{.d{display:none!important}} #e{visibility:hidden}</style></HEAD>`;
const ODD_PARTS: readonly ((index: number) => string)[] = [
  (index) =>
    `<P>Par ${index} left open with caf&eacute;, &#x1F6A2; and &nbsp;a&shy;b &lt;tag&gt; &copy &notanentity; <B>bold <I>both</B> crossed</I> ${"“quoted” – dashed … ".repeat(3)}`,
  (index) =>
    `<div style="display:none">Hidden ${index}</div><div style='color:red;visibility: hidden'>Not seen</div><div aria-hidden=true>x</div><span hidden>y</span><div class="sr-only visually-hidden">z</div>`,
  (index) =>
    `<table border=1><tr><td>Cell ${index}<td>Next<tr><th scope=row colspan=2>Head<td rowspan="2"><table><tr><td>inner</table></table>`,
  (index) =>
    `<ul><li>One<li>Two<ul><li>Inner ${index}</ul><li><a href='#'>#</a></ul></li></div></section><ol start=3 reversed><li value=7>Seven</ol><dl><dt>Term<dd>Meaning<dt>Other</dl>`,
  (index) =>
    `<!-- a comment ${index} --><![CDATA[ no ]]><!-- > --><math alttext="x^2"><msup><mi>x</mi><mn>2</mn></msup></math><svg viewBox="0 0 1 1"><title>Icon</title><path d="M0 0"/></svg><ruby>漢<rp>(<rt>kan<rp>)</ruby>`,
  (index) =>
    `<div itemscope itemtype="https://schema.org/Person"><span itemprop=author><meta itemprop="name" content="Writer ${index}"></span><a rel="author nofollow" href="/author/writer-${index}/">Writer ${index}</a> <time pubdate datetime="2025-05-0${(index % 9) + 1}T10:00:00+02:00">today</time><span class="posted-on date">Posted on 0${(index % 9) + 1}.05.2025, updated 7 May</span><span property="schema:dateModified" content="2025-05-08"></span></div>`,
  (index) =>
    `<div role="dialog" class="modal popup" id="newsletter-${index}"><h2>Subscribe now!</h2><p>Get our newsletter.</p><button>No, thanks</button></div><div class="paywall locked premium"><p>Subscribe to read on. Already a subscriber? <a href="/login">Log in</a></p></div>`,
  (index) =>
    `<h1><a href="/"><img alt="Harbour Office" src="data:image/gif;base64,R0lGOD"></a></h1><h1>Cranes &amp; quays, part ${index}</h1><h2>Сравнение 比較 مقارنة</h2><h4></h4><hr><br/><center><font size=2>Old</font></center>`,
  (index) =>
    `<details><summary>More ${index}</summary>Text without a paragraph, 1 234,50 € and 3.141.592 and +49 30 1234567, a@harbour.example</details><blockquote cite=x>Quoted<footer>— Somebody</footer></blockquote><pre>  plain\n\tcode &lt;${index}&gt;\n</pre><code>x</code><kbd>Ctrl</kbd><var>v</var>`,
  (index) =>
    `<form><select name=s><option>1<option selected>2</select><textarea>typed ${index}</textarea><input type=hidden value=1><label for=q>Q</label><input id=q></form><iframe src="https://video.example/embed/${index}"></iframe><video poster=/p.jpg><source src=v.mp4><track></video><object><param><embed></object><picture><source srcset="a 1x"><img data-src=/lazy.jpg width=600 height=400 alt="A picture &quot;${index}&quot;"></picture><map><area href="/part" alt="Part"></map>`,
  (index) =>
    `<section class="c-block c-block--wide" data-component=teaser data-testid="t${index}"><a href="https://other.example/${index}?a=1&amp;b=2" title='T'>A link with a long text that says what is behind it</a><p class="meta">by <a href="/user/u${index}">u${index}</a> · 3 h ago · 12 comments</p></section>`,
  (index) =>
    `<p lang=de>Straße über Äcker: größer, schöner.</p><p dir=rtl>שלום עולם, זה טקסט קצר ${index}.</p><p>ภาษาไทยไม่มีช่องว่างระหว่างคำ</p><p>한국어 문장은 띄어 씁니다.</p><p>हिन्दी में एक वाक्य।</p><p>${"veryLongWordWithoutAnySpace".repeat(6)}</p>`,
];
const odd = (first: number, parts: number): string =>
  `${ODD_HEAD}<BODY onload="x()" class="home page">${repeated(parts, (index) => ODD_PARTS[(first + index) % ODD_PARTS.length]!(index))}</BODY></HTML><p>After the end`;

/** Nearly empty pages: no head, no text, one line, a frame. */
const BARE: readonly string[] = [
  "<p>One line",
  "Text without a tag & an open reference &am",
  "<title>Only a title</title>",
  "<html><head></head><body><div id=app></div><script src=/app.js></script></body></html>",
  '<frameset cols="20%,80%"><frame src=menu.html><noframes>No frames</noframes></frameset>',
];

/** HTML, 5 to 15 KB each. */
export const CONTENT_PAGES: readonly string[] = [
  article(ENGLISH),
  ...[FORUM, LISTING, PRODUCT, DOCUMENTATION, TABLE].map((body) => page(ENGLISH, body)),
  ...LANGUAGES.map(article),
];

/** The odd ones first: what V8 has seen before it optimises a function drops no optimised code later. */
export const WARM_UP_PAGES: readonly string[] = [
  ...[0, 5, 9].map((first) => odd(first, 30)),
  ...BARE,
  ...CONTENT_PAGES,
];

/** Each of them changes a tag; tags of other numbers stay as they are. Names and numbers differ from tag to tag. */
const VARIATIONS: readonly ((tag: string, n: number) => string)[] = [
  (tag, n) => `${tag} id="n${n}" class="c${n % 83} col-md-${n % 12} is_active"`,
  (tag, n) => `${tag} style='margin:${n % 9}px' data-n=${n}`,
  (tag, n) => `${n % 1_000} &amp; ${tag}`,
  (tag, n) => `<span class="widget-${n % 19} meta__item">${n}. 05. 2024</span>${tag}`,
  (tag, n) => `<br>${tag} title="T ${n}" role="note" lang=en`,
];
const END_VARIATIONS: readonly ((tag: string) => string)[] = [
  (tag) => `<!-- -->${tag}`,
  // An end tag without its element, and an element that stays open.
  (tag) => (tag === "</a" ? tag : "</i"),
];
const VARIED = 11;
/** Punctuation of CONTENT_PAGES outside Latin-1. */
const WIDE = /[\u2013-\u2026]/g;

/**
 * A page with other tags, attributes and short lines in each round, in every second one with characters of one byte where its
 * language has no others: V8 drops optimised code at what it has not seen, and a page that is read again shows it nothing.
 */
export function variedPage(html: string, round: number): string {
  if (round === 0) return html;
  const narrow = round % 2 === 0 ? html.replace(WIDE, "-") : html;
  let n = round * 7;
  return narrow.replace(/<\/?(?:p|div|li|ul|span|a|td|h[2-4]|section|em)\b/g, (tag) => {
    n = (n * 31 + 17) % 10_007;
    if (tag.startsWith("</")) return END_VARIATIONS[n % VARIED]?.(tag) ?? tag;
    return VARIATIONS[n % VARIED]?.(tag, n) ?? tag;
  });
}
