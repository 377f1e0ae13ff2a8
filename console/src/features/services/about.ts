import type { NewServiceImage, ServiceImage, ServiceLink } from "@/api/generated/types";
import type { Text } from "@/i18n";
import type { Fault } from "./check";
import type { Keyed } from "./template";

/** An entry but for its template. */
export interface About {
  /** Service and version can be chosen. */
  isNew: boolean;
  service: string;
  version: string;
  description: string;
  descriptions: Record<string, string>;
  icon_url: string;
  links: Keyed<ServiceLink>[];
  enabled: boolean;
  recommended: boolean;
}

export const aboutOf = (like: ServiceImage | undefined): Omit<About, "isNew"> => ({
  service: like?.service ?? "",
  version: like?.version ?? "",
  description: like?.description ?? "",
  descriptions: like?.descriptions ?? {},
  icon_url: like?.icon_url ?? "",
  links: (like?.links ?? []).map((link) => ({ ...link, key: crypto.randomUUID() })),
  enabled: like?.enabled ?? true,
  recommended: like?.recommended ?? false,
});

/** What is sent of it; an empty description in another language is none. */
export const aboutBody = (
  about: About,
): Required<Pick<NewServiceImage, "description" | "descriptions" | "icon_url" | "links">> => ({
  description: about.description,
  descriptions: Object.fromEntries(Object.entries(about.descriptions).filter(([, text]) => text.trim())),
  icon_url: about.icon_url,
  links: about.links.map(({ title, url }) => ({ title, url })),
});

const isName = (text: string) => /^[a-z0-9._-]{1,63}$/.test(text);

function isWebAddress(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && protocols.includes(url.protocol);
}

export function checkAbout(about: About, t: Text): Fault[] {
  const faults: Fault[] = [];
  const require = (isMet: boolean, pointer: string, detail: string) => {
    if (!isMet) faults.push({ pointer, detail });
  };
  if (about.isNew) {
    require(isName(about.service), "/service", t("catalogue.serviceWrong"));
    require(isName(about.version), "/version", t("catalogue.serviceWrong"));
  }
  require(about.description.length <= 1000, "/description", t("catalogue.descriptionWrong"));
  require(!about.icon_url || isWebAddress(about.icon_url, ["https:"]), "/icon_url", t("catalogue.iconWrong"));
  for (const [i, { title, url }] of about.links.entries()) {
    require(title.trim().length > 0 && title.length <= 100, `/links/${i}/title`, t(
      "catalogue.linkTitleWrong",
    ));
    require(isWebAddress(url, ["https:", "http:"]), `/links/${i}/url`, t("catalogue.linkWrong"));
  }
  return faults;
}
