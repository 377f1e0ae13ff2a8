import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/generated/types";
import { askedFor } from "@/api/jobs/asked";
import { pictureText } from "@/api/jobs/picture-text";
import { artifacts } from "@/api/jobs/queries";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { nameOf, parametersOf, withText } from "./parameters";
import { isPicture } from "./picture";

const none = { id: "" as never, content_type: "" };

/**
 * What a job was asked for, and what it is called: from this browser, or from its first picture where the page has asked
 * what it has made.
 */
export function useAsked(it: Pick<Job, "id" | "kind">) {
  const { t } = useText();
  const order = askedFor(useMe().user.id, it.id);
  const { data: made } = useQuery({ ...artifacts(it.id), enabled: false });
  const first = it.kind === "generation" ? made?.find(isPicture) : undefined;
  const { data: written } = useQuery({
    ...pictureText(it.id, first ?? none),
    enabled: first !== undefined && order === undefined,
  });
  const name = nameOf(order) ?? (written?.prompt || null);
  return {
    order,
    known: withText(parametersOf(order), written),
    /** Whether the name says what it is about. */
    isKnown: name !== null,
    name: name ?? t("jobs.titleOf", { kind: t(`jobs.${it.kind}`), id: shortId(it.id) }),
  };
}
