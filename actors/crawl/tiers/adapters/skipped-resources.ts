/**
 * Resources that a page in a browser does not load: what only matters to the eye, unless the page is seen or archived, and what its caller blocks. Chromium
 * pauses these requests alone, and each is refused.
 */
import type { BlockableResource } from "../../../../schemas/page-view.ts";

/** As Chromium names types of resources. */
type ResourceType = "Image" | "Media" | "Font" | "Ping" | "Stylesheet";

/** Use of a page besides its text. */
export type PageUse = "text" | "picture" | "archive";
const SKIPPED: Readonly<Record<PageUse, readonly ResourceType[]>> = {
  text: ["Image", "Media", "Font", "Ping"],
  picture: ["Media", "Ping"],
  archive: ["Ping"],
};
const BLOCKED_TYPES: Readonly<Record<Exclude<BlockableResource, "ads">, ResourceType>> = {
  image: "Image",
  font: "Font",
  media: "Media",
  stylesheet: "Stylesheet",
};

/** Advertising networks, by registrable domain: exchanges, ad servers and what measures their banners. No page is read from there. */
const AD_HOSTS: ReadonlySet<string> = new Set(
  `2mdn.net 33across.com 3lift.com a-ads.com ad.gt adcolony.com adform.net adgrx.com adhigh.net adition.com adkernel.com adlightning.com
  admanmedia.com admixer.net adnxs.com adnxs-simple.com adroll.com adsafeprotected.com adscale.de adsterra.com adsrvr.org adtechus.com
  adtelligent.com advertising.com adzerk.net agkn.com amazon-adsystem.com aniview.com applovin.com betweendigital.com bidswitch.net
  bluekai.com buysellads.com buysellads.net carbonads.com carbonads.net casalemedia.com connatix.com connectad.io contextweb.com criteo.com
  criteo.net demdex.net districtm.io dotomi.com doubleclick.net doubleverify.com emxdgt.com everesttech.net exelator.com exoclick.com
  flashtalking.com fwmrm.net googleadservices.com googlesyndication.com googletagservices.com gumgum.com improvedigital.com indexww.com
  infolinks.com innovid.com ioam.de kargo.com krxd.net lijit.com liveintent.com lockerdome.com loopme.me mathtag.com media.net mediavine.com
  mgid.com moatads.com mookie1.com nativo.com omnitagjs.com onetag-sys.com openx.net outbrain.com outbrainimg.com popads.net popcash.net
  propellerads.com pubmatic.com quantcount.com quantserve.com revcontent.com rfihub.com richaudience.com rlcdn.com rubiconproject.com
  scorecardresearch.com seedtag.com serving-sys.com sharethrough.com simpli.fi sitescout.com smaato.net smartadserver.com sonobi.com
  sovrn.com spotxchange.com springserve.com stackadapt.com taboola.com tapad.com teads.tv tidaltv.com tribalfusion.com triplelift.com
  turn.com undertone.com unrulymedia.com yieldlab.net yieldlove.com yieldmo.com yieldoptimizer.com zedo.com`.split(
    /\s+/,
  ),
);

export interface SkippedResources {
  /** For Fetch.enable. */
  readonly patterns: readonly { readonly resourceType?: ResourceType; readonly urlPattern?: string }[];
  /** `type` in any case. */
  readonly has: (type: string, url: string) => boolean;
}

export function skippedResources({
  use,
  blocked,
}: {
  readonly use: PageUse;
  readonly blocked: readonly BlockableResource[];
}): SkippedResources {
  const kinds = blocked.flatMap((kind) => (kind === "ads" ? [] : [BLOCKED_TYPES[kind]]));
  const types = new Set([...SKIPPED[use], ...kinds]);
  const names: ReadonlySet<string> = new Set([...types].map((type) => type.toLowerCase()));
  const areAdsBlocked = blocked.includes("ads");
  return {
    patterns: [
      ...[...types].map((resourceType) => ({ resourceType })),
      // A port may follow the host. What has its name elsewhere is paused, too, and goes on.
      ...(areAdsBlocked ? [...AD_HOSTS].map((host) => ({ urlPattern: `*://*${host}*` })) : []),
    ],
    has: (type, url) => names.has(type.toLowerCase()) || (areAdsBlocked && isAd(url)),
  };
}

function isAd(url: string): boolean {
  const labels = (URL.parse(url)?.hostname ?? "").split(".");
  return labels.some((_, at) => AD_HOSTS.has(labels.slice(at).join(".")));
}
