import { ExternalLink } from "lucide-react";
import type { Instance, InstancePort } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";

const titles: [RegExp, string][] = [
  [/webui/i, "WebUI"],
  [/comfyui/i, "ComfyUI"],
  [/jupyter/i, "Jupyter"],
];

/** "WebUI", where the service or its name tells what answers. */
export const serviceTitle = ({ service, url_title }: Pick<Instance, "service" | "url_title">) =>
  url_title ?? titles.find(([pattern]) => service && pattern.test(service))?.[1] ?? null;

/** "Open WebUI", where it is known what answers. */
export function openWord(it: Pick<Instance, "service" | "url_title">, t: Text, port?: InstancePort): string {
  const title = port ? (port.title ?? String(port.port)) : serviceTitle(it);
  return title ? t("instances.openTitle", { title }) : t("instances.open");
}

/** A link to a page in a new tab that makes the ticket: a window opened after a request would be blocked. */
export function OpenLink({
  it,
  port,
  small,
  icon,
  primary,
}: {
  it: Instance;
  /** A port besides the one of the service. */
  port?: InstancePort;
  small?: boolean;
  icon?: boolean;
  primary?: boolean;
}) {
  const { t } = useText();
  if (it.state !== "running") return null;
  const word = openWord(it, t, port);
  return (
    <ButtonLink
      to="/instances/$id/open"
      params={{ id: it.id }}
      search={port && { port: port.port }}
      target="_blank"
      preload={false}
      kind={primary ? "primary" : "plain"}
      small={small}
      icon={icon}
      aria-label={t("instances.openOf", { open: word, name: it.name })}
    >
      {!icon && word}
      <ExternalLink className="size-3.5" aria-hidden="true" />
    </ButtonLink>
  );
}
