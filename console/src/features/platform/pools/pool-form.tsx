import type { LinkProps } from "@tanstack/react-router";
import type { FormEvent, ReactNode } from "react";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { Button, ButtonLink } from "@/ui/button";
import { type Change, Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { Section } from "@/ui/page";
import { ApplicationFields } from "./about-fields";
import type { Draft } from "./draft";
import { FactorFields } from "./factor-fields";
import { WorkerFields } from "./worker-fields";

/** What a pool has at the left; what the press does, and the press itself, always in view at the right. */
export function PoolForm({
  form,
  children,
  notice,
  changes,
  empty,
  error,
  curl,
  verb,
  cancel,
  busy,
  nothing,
}: {
  form: Form<Draft>;
  /** What stays as it was created. */
  children: ReactNode;
  notice?: ReactNode;
  changes: readonly Change[];
  empty: string;
  error: unknown;
  curl: string;
  verb: string;
  cancel: LinkProps;
  busy: boolean;
  /** Why there is nothing to send. */
  nothing?: string | false;
}) {
  const { t } = useText();
  const isSaidAtField = Object.values(form.errors).some(Boolean);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!nothing) form.submit();
  };
  return (
    <form noValidate onSubmit={submit} className="grid items-start gap-8 lg:grid-cols-[minmax(0,1fr)_19rem]">
      <div className="min-w-0">
        {children}
        <Section title={t("pools.applicationsSection")} hint={t("pools.applicationsHint")}>
          <ApplicationFields form={form} />
        </Section>
        <Section title={t("pools.workers")}>
          <WorkerFields form={form} />
        </Section>
        <Section title={t("pools.factors")} hint={t("pools.factorsHint")}>
          <FactorFields form={form} />
        </Section>
      </div>
      <div className="space-y-3 lg:sticky lg:top-6">
        {notice}
        <Changes title={t("stock.whatItDoes")} empty={empty} changes={changes} />
        {error != null && !isSaidAtField && <ErrorLine error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <CopyCurl command={curl} />
          <ButtonLink {...cancel}>{t("ui.cancel")}</ButtonLink>
          <Button kind="primary" type="submit" busy={busy} disabled={nothing}>
            {verb}
          </Button>
        </div>
      </div>
    </form>
  );
}
