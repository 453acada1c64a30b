/**
 * The words that distinguish text from boilerplate, by purpose and language, as data. Names are class names, ids and the like,
 * cut into words ("RelatedPosts", "related-posts" and "related_posts" are all "related posts"); phrases are whole lines.
 * The consequences of a hit are decided in marks.ts and lines.ts.
 */

/** Names of elements that are never text, on any kind of page. */
export const TRIMMINGS = `
nav|navbar|navigation|navigations|menu|megamenu|submenu|offcanvas|off canvas|hamburger|topbar|top bar|toolbar|breadcrumb|breadcrumbs|bread crumb|crumbs|
footer|site footer|colophon|masthead|site header|page footer|cookie|cookies|cookiebar|consent|gdpr|onetrust|didomi|cmp|cookiebot|usercentrics|
modal|modals|popup|popups|pop up|overlay|lightbox|dialog|drawer|flyout|tooltip|tooltips|popover|toast|snackbar|
share|sharing|shares|sharedaddy|social|socials|social links|addthis|addtoany|a2a kit|sharethis|shareaholic|follow us|
login|signin|sign in|signup|sign up|log in|register form|cart|minicart|mini cart|basket|wishlist|checkout|
filter|filters|facet|facets|refine|refinements|sort by|sorting|pagination|pager|paginator|paging|page numbers|nav links|
ad|ads|adv|advert|adverts|advertisement|advertising|adsbygoogle|ad slot|ad unit|adsense|dfp|gpt ad|sponsor|sponsored|sponsors|sponsorship|
newsletter|newsletters|subscribe|subscription|subscriptions|mailing list|mailchimp|mc4wp|
skip link|skip links|skiplink|skip to content|screen reader text|screen reader|sr only|visually hidden|visuallyhidden|
language switcher|lang switcher|locale switcher|country selector|search form|searchform|searchbox|search box|search bar|searchbar|
back to top|scroll top|scroll to top|chatbot|livechat|recaptcha|captcha|print only|noprint|no print
`;

/** Names of further elements that are no text beside an article. */
export const BESIDE_ARTICLE = `
comment|comments|commentlist|comment list|respond|reply|replies|disqus|discussion|discussions|fb comments|livefyre|spot im|
sidebar|side bar|aside|rail|right rail|left rail|right column|sidecol|secondary|widget|widgets|widget area|
related|relateds|recommend|recommended|recommendation|recommendations|recirc|recirculation|read more|readmore|more from|more stories|more news|more articles|
also like|you may like|you might like|further reading|see also box|read next|up next|next article|prev next|post navigation|outbrain|taboola|zergnet|revcontent|
trending|most read|most popular|popular posts|popular|mostread|latest news|latest posts|recent posts|top stories|teaser|teasers|
tags|tag list|taglist|tag links|tag cloud|tagcloud|post tags|entry tags|categories|cat links|post categories|keywords|topics|
byline|by line|author|authors|author bio|author box|authorbox|about author|about the author|author info|author card|bio|biography|contributor|contributors|
dateline|date line|post meta|entry meta|article meta|meta|metadata|post info|article info|post date|entry date|published|timestamp|updated|read time|reading time|
caption|captions|credit|credits|photo credit|image credit|wp caption text|figcaption|
promo|promos|promotion|promotions|promobox|banner|banners|cta|call to action|callout cta|carousel|slider|slideshow|swiper|gallery|galleries|thumbnails|
player|video player|audio player|podcast player|jwplayer|listen|toc|table of contents|tableofcontents|contents list|jump links|infobox|navbox|vertical navbox|metadata plainlinks|
print footer|printfooter|copyright|disclaimer|correction|rating|ratings|stars|votes|vote|poll|polls|survey|quiz|donate|donation|support us|
action|actions|action bar|article tools|tools|button group|buttons|jobs board|weather|stock ticker|ticker|correlati|articoli correlati|
verwandte|mehr zum thema|weitere artikel|artikel empfehlungen|articles lies|a lire aussi|lire aussi|relacionados|relacionadas|noticias relacionadas|newsletter box
`;

/** Names of the element with the body of the text. */
export const BODY_STRONG = `
article body|articlebody|article text|article content|articlecontent|article copy|story body|storybody|story text|story content|entry content|post content|postcontent|
post body|postbody|post text|body text|bodytext|body copy|bodycopy|main text|maintext|mw parser output|rich text|richtext|rte|blog content|blog post content|news body|
news text|news content|content body|page content body|single content|artikeltext|article main|artikel text|text body|field name body|node body|article paragraphs|
article wrapper body|paragraphs|texto noticia|cuerpo|corps article|testo articolo|articulo cuerpo|post entry|wysiwyg|prose|markdown body|markdown|theme doc markdown|td post content
`;
export const BODY_WEAK = `content|contents|text|main|story|article|entry|post|inhalt|contenido|contenu|contenuto|body|blog|artikel|articulo|single`;

/** Prefixes of page builders, whose words describe layout and not content. */
export const BUILDER = `
elementor|wp block|et pb|vc|wpb|fl|brz|sqs|sqs block|w|wix|wixui|shg|ux|fusion|avia|av|siteorigin panel|so|panel|themify|oxy|ct|tve|thrv|kb|kt|kadence|gb|uagb|stk|cs|shopify section|shopify|
webflow|framer|hs|hs cta|dnd|hubspot|mkdf|qodef|tatsu|brxe|bricks|divi|jet|uk|uncode|elfsight
`;

/** Lines that are never text by themselves; compared lower-cased, without closing punctuation. */
export const JUNK_LINES = `
advertisement|advertisements|ad|ads|advertising|sponsored|sponsored content|promoted|promoted content|continue reading|continue reading below|story continues below advertisement|
article continues below advertisement|story continues below|article continues after advertisement|scroll to continue|read more|learn more|load more|show more|see more|view more|view all|see all|show less|
share|share this|share this article|share this story|share this post|share article|share on facebook|share on twitter|share on linkedin|share via email|tweet|pin it|pin|email|print|copy link|facebook|twitter|linkedin|
pinterest|whatsapp|reddit|instagram|youtube|tiktok|telegram|x|flipboard|follow us|follow|like|like this|like loading|save|bookmark|comment|comments|leave a comment|add a comment|post a comment|leave a reply|reply|
cancel reply|subscribe|subscribe now|sign up|sign up now|sign in|log in|login|register|newsletter|close|open|menu|search|back|back to top|next|previous|prev|home|skip to content|skip to main content|skip|
photo|photos|image|images|video|videos|watch|watch video|listen|play|pause|enlarge|enlarge this image|enlarge image|toggle caption|hide caption|caption|view gallery|getty images|reuters|afp|associated press|ap|dpa|
related|related articles|related stories|related posts|related content|recommended|trending|more|more info|details|download|edit|edit this page|edit on github|copy|copied|copy code|loading|please wait|
table of contents|contents|on this page|in this article|jump to|toc|tags|topics|filed under|author|written by|by|published|updated|last updated|date|published on|
anzeige|werbung|teilen|drucken|kommentare|kommentieren|mehr|mehr lesen|weiterlesen|zum seitenanfang|zurück|nach oben|merken|artikel teilen|seite drucken|artikel drucken|bild|foto|video abspielen|
publicité|partager|imprimer|commentaires|commenter|lire la suite|lire aussi|à lire aussi|s'abonner|abonnez-vous|je m'abonne|fermer|retour|haut de page|
publicidad|compartir|imprimir|comentarios|comentar|leer más|suscríbete|cerrar|volver|archivado en|pubblicità|condividi|stampa|commenti|leggi anche|leggi tutto|abbonati|chiudi|torna su|
publicidade|compartilhar|compartilhe|comentários|leia mais|leia também|saiba mais|assine|fechar|voltar|reclame|advertentie|delen|reacties|lees meer|lees ook|abonneer|sluiten|
реклама|поделиться|распечатать|версия для печати|печать|отправить другу|главная|новости|все новости|подробнее|далее|назад|наверх|вверх|войти|вход|регистрация|поиск|обсудить|комментарии|комментировать|добавить комментарий|комментариев нет|читать далее|фото|теги|
reklama|drukuj|wyślij|podziel się|udostępnij|komentarze|skomentuj|dodaj komentarz|powrót|wróć|więcej|czytaj więcej|czytaj dalej|zaloguj się|zarejestruj się|polecane|najnowsze|najczęściej czytane|szukaj|strona główna|tagi|oceń|fot|
διαφήμιση|εκτύπωση|αποστολή|κοινοποίηση|σχόλια|προσθήκη σχολίου|επιστροφή|περισσότερα|διαβάστε περισσότερα|αρχική|αναζήτηση|σύνδεση|εγγραφή|ετικέτες|
广告|分享|分享到|打印|打印本页|关闭|关闭窗口|收藏|评论|我要评论|发表评论|网友评论|返回顶部|返回首页|更多|字号|大 中 小|首页|登录|注册|搜索|上一页|下一页|上一篇|下一篇|版权声明|免责声明|转发|微博|推荐|相关新闻|
廣告|列印|關閉|評論|返回頂部|登入|註冊|搜尋|上一頁|下一頁|相關新聞|広告|印刷|シェア|コメント|ログイン|検索|もっと見る|続きを読む|トップ|前へ|次へ|関連記事|광고|공유|인쇄|댓글|로그인|회원가입|검색|더보기|목록|이전|다음|관련기사
`;

/** A line that begins with one of these and is mostly link points to another page. */
export const POINTERS = `
read more|read also|also read|read:|see also|see more|related:|related|more:|more on|more from|watch:|watch|listen:|click here|learn more|find out more|continue reading|recommended|don't miss|up next|next:|previous:|
download our|sign up|subscribe|lire aussi|à lire|lire la suite|a lire|lire :|lesen sie auch|lesen sie|mehr zum thema|mehr dazu|lesen:|siehe auch|weiterlesen|leer más|leer también|lea también|lee también|ver también|te puede interesar|
leggi anche|leggi|guarda anche|vedi anche|leia também|leia mais|veja também|lees ook|lees meer|läs också|läs mer|les også|læs også|czytaj także|czytaj też|zobacz także|zobacz też|
читайте также|читать также|смотрите также|подробнее|читать далее|по теме|διαβάστε επίσης|διαβάστε ακόμη|δείτε επίσης|δείτε ακόμη|相关阅读|相关新闻|更多|点击|查看|相關閱讀|延伸閱讀|関連記事|続きを読む|관련기사|더보기
`;

/** A line that begins with one of these ends an article after more than half of its text. */
export const ENDINGS = `
related articles|related stories|related posts|related content|related news|related topics|related links|related reading|related:|more from|more stories|more articles|more news|more on this|more like this|
you may also like|you might also like|you may also enjoy|you might be interested|recommended for you|recommended reading|recommended articles|recommended stories|read next|up next|what to read next|
about the author|about author|about the writer|author bio|meet the author|leave a reply|leave a comment|post a comment|add a comment|join the conversation|join the discussion|comments (|comments|
share this|share this article|share this post|share this story|filed under|tags:|tagged|posted in|categories:|subscribe to our|sign up for our|sign up to our|get our newsletter|join our newsletter|subscribe now|
popular posts|recent posts|latest posts|latest news|latest articles|latest stories|most popular|most read|trending now|top stories|editor's picks|explore more|keep reading|see also:|previous post|next post|previous article|next article|
mehr zum thema|lesen sie auch|weitere artikel|das könnte sie auch interessieren|auch interessant|ähnliche artikel|kommentare|schreiben sie einen kommentar|über den autor|verwandte artikel|
à lire aussi|lire aussi|sur le même sujet|articles similaires|les plus lus|commentaires|laisser un commentaire|noticias relacionadas|artículos relacionados|te puede interesar|deja un comentario|deja una respuesta|
articoli correlati|leggi anche|ti potrebbe interessare|lascia un commento|leia também|veja também|notícias relacionadas|deixe um comentário|gerelateerde artikelen|lees ook|
читайте также|комментарии|добавить комментарий|похожие статьи|другие новости|материалы по теме|новости по теме|czytaj także|czytaj też|komentarze|dodaj komentarz|zobacz także|podobne artykuły|σχετικά άρθρα|διαβάστε επίσης|σχόλια|προσθήκη σχολίου|
相关新闻|相关阅读|相关报道|相关文章|推荐阅读|热点新闻|责任编辑|编辑|网友评论|发表评论|上一篇|下一篇|相關新聞|延伸閱讀|推薦閱讀|責任編輯|関連記事|関連リンク|あわせて読みたい|관련기사|관련 기사|댓글
`;

export const entries = (words: string): string[] =>
  words
    .replaceAll("\n", "")
    .split("|")
    .map((word) => word.trim())
    .filter((word) => word !== "");

const escaped = (word: string): string => word.replace(/[.*+?^${}()[\]\\]/g, "\\$&");

export const phraseSet = (words: string): ReadonlySet<string> => new Set(entries(words));
export const beginPattern = (words: string): RegExp =>
  new RegExp(`^(?:${entries(words).map(escaped).join("|")})(?![\\p{L}\\p{N}])`, "iu");
