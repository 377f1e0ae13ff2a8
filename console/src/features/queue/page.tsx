import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { asCurl } from "@/api/client";
import { createMqCredential } from "@/api/generated/operations";
import type { MqCredential } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useTenant } from "@/app/needs-tenant";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Empty, PageHead, Section } from "@/ui/page";
import { CreateCredential } from "./create";
import { Credentials } from "./credentials";
import { credentials, refused } from "./queries";
import { Refused } from "./refused";
import { Rules } from "./rules";
import { CredentialSecret } from "./secret";

const route = getRouteApi("/_app/message-queue");

export function QueuePage() {
  const { t } = useText();
  const tenant = useTenant();
  const { items } = useLoaded(credentials);
  const { open, message } = route.useSearch();
  const navigate = route.useNavigate();
  const reason = useWhyNot("queue.write");
  const [made, setMade] = useState<MqCredential | null>(null);
  const go = (search: { open?: "create" | undefined; message?: string | undefined }) =>
    void navigate({ search, replace: true, resetScroll: false });
  const create = (kind?: "primary") => (
    <Button kind={kind} disabled={reason} onClick={() => go({ message, open: "create" })}>
      <Plus className="size-4" aria-hidden="true" />
      {t("queue.create")}
    </Button>
  );
  return (
    <>
      <PageHead title={t("queue.title")} actions={create("primary")}>
        <Summary count={items.length} />
      </PageHead>
      <Section title={t("queue.credentials")} hint={t("queue.credentialsHint")}>
        <Credentials
          items={items}
          empty={
            <>
              <Empty title={t("queue.emptyTitle")} actions={create()}>
                {t("queue.emptyHint")}
              </Empty>
              <div className="mx-auto max-w-160 px-4 pb-6">
                <CopyBox
                  lines
                  text={asCurl(createMqCredential, { body: { name: "render farm" } })}
                  label={t("ui.copyAsCurl")}
                />
              </div>
            </>
          }
        />
      </Section>
      <Refused known={items} unfolded={message} onUnfold={(next) => go({ message: next })} />
      <Rules queue={items[0]?.queue ?? `events.${tenant}`} />
      {open === "create" && !reason && (
        <CreateCredential
          onClose={() => go({ message })}
          onDone={(credential) => {
            go({ message });
            setMade(credential);
          }}
        />
      )}
      <CredentialSecret made={made} onClose={() => setMade(null)} />
    </>
  );
}

function Summary({ count }: { count: number }) {
  const { t } = useText();
  const list = useLoadedPages(refused);
  const known = list.data.pages.reduce((sum, page) => sum + page.items.length, 0);
  const refusals = () => {
    if (list.hasNextPage) return t("queue.refusedMany", { count: known });
    return known > 0 ? t("queue.refusedCount", { count: known }) : t("queue.noneRefused");
  };
  return t("queue.summary", {
    credentials: t("queue.credentialsCount", { count }),
    refused: refusals(),
  });
}
