import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { instances } from "@/api/instances/queries";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { PageHead, Section } from "@/ui/page";
import { AddDialog } from "./add";
import { Credentials } from "./credentials";
import { InstanceSecrets } from "./instance-secrets";
import { registryCredentials } from "./queries";

const route = getRouteApi("/_app/secrets");

export function SecretsPage() {
  const { t } = useText();
  const { sentences } = useFormat();
  const items = useLoaded(registryCredentials);
  const list = useLoadedPages(instances()).data;
  const known = list.pages.flatMap((page) => page.items);
  const { add } = route.useSearch();
  const navigate = route.useNavigate();
  const reason = useWhyNot("credentials.write");
  /** The registry that the form begins with, or none. */
  const show = (registry: string | undefined) => void navigate({ search: { add: registry }, replace: true });
  const secrets = known.reduce((sum, it) => sum + it.secrets.length, 0);
  return (
    <>
      <PageHead
        title={t("secrets.title")}
        actions={
          <Button kind="primary" disabled={reason} onClick={() => show("")}>
            <Plus className="size-4" aria-hidden="true" />
            {t("secrets.add")}
          </Button>
        }
      >
        {sentences([
          items.length > 0 ? t("secrets.summary", { count: items.length }) : t("secrets.summaryNone"),
          secrets > 0 && t("secrets.inInstances", { count: secrets }),
        ])}
      </PageHead>
      <Section title={t("secrets.registries")} hint={t("secrets.registriesHint")}>
        <Credentials items={items} reason={reason} onReplace={show} />
      </Section>
      <Section title={t("secrets.inInstancesTitle")} hint={t("secrets.inInstancesHint")}>
        <InstanceSecrets instances={known} isWhole={list.pages.at(-1)?.next_cursor === null} />
      </Section>
      {add !== undefined && !reason && <AddDialog key={add} registry={add} onClose={() => show(undefined)} />}
    </>
  );
}
