import { ExternalLink } from "lucide-react";
import type { Instance } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";

const titles: [RegExp, string][] = [
  [/webui/i, "WebUI"],
  [/comfyui/i, "ComfyUI"],
  [/jupyter/i, "Jupyter"],
];

/** "Open WebUI", where the name of the service tells what answers. */
export function openWord({ service }: Pick<Instance, "service">, t: Text): string {
  const title = titles.find(([pattern]) => service && pattern.test(service))?.[1];
  return title ? t("instances.openTitle", { title }) : t("instances.open");
}

/** A link to a page in a new tab that makes the ticket: a window opened after a request would be blocked. */
export function OpenLink({ it, small, icon }: { it: Instance; small?: boolean; icon?: boolean }) {
  const { t } = useText();
  if (it.state !== "running") return null;
  const word = openWord(it, t);
  return (
    <ButtonLink
      to="/instances/$id/open"
      params={{ id: it.id }}
      target="_blank"
      preload={false}
      small={small}
      icon={icon}
      aria-label={t("instances.openOf", { open: word, name: it.name })}
    >
      {!icon && word}
      <ExternalLink className="size-3.5" aria-hidden="true" />
    </ButtonLink>
  );
}
