import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call } from "@/api/client";
import { createInstanceTicket } from "@/api/generated/operations";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { ErrorPage } from "@/ui/error";

/** Makes the ticket of an instance and goes there: what the links in new tabs lead to. */
export function OpenPage({ id, port }: { id: InstanceId; port: number | undefined }) {
  const { t } = useText();
  const client = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const name = client.getQueryData(instance(id).queryKey)?.name;
  useEffect(() => {
    let isLeft = false;
    call(createInstanceTicket, { path: { id }, ...(port && { body: { port } }) })
      .then(({ url }) => {
        if (!isLeft && url) location.replace(url);
      })
      .catch((cause: unknown) => {
        if (!isLeft) setError(cause);
      });
    return () => {
      isLeft = true;
    };
  }, [id, port]);
  const up = (
    <ButtonLink to="/instances/$id" params={{ id }}>
      {t("instances.details")}
    </ButtonLink>
  );
  if (error)
    return (
      <>
        <title>{`${t("instances.open")} · Atelier`}</title>
        <ErrorPage error={error} />
        <div className="mx-auto -mt-10 max-w-112">{up}</div>
      </>
    );
  return (
    <div className="mx-auto max-w-112 py-16">
      <title>{`${t("instances.open")} · Atelier`}</title>
      <h1 className="font-medium font-serif text-xl">{t("instances.opening", { name: name ?? "" })}</h1>
      <p className="mt-2 text-ink-2">{t("instances.openingHint")}</p>
    </div>
  );
}
