import { useQuery } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { Panel, Section } from "@/ui/page";

/** What else costs, or is not told by the API. */
export function NotInSum() {
  const { t } = useText();
  const { total } = useFormat();
  const { data } = useQuery(storages);
  const monthly = data && monthlyOf(data);
  const lines = [
    {
      title: t("usage.notInStorages"),
      hint: !monthly
        ? null
        : monthly.size > 0
          ? t("usage.notInStoragesHint", { cost: total(monthly) })
          : t("usage.notInStoragesNone"),
    },
    { title: t("usage.notInPeople"), hint: t("usage.notInPeopleHint") },
  ];
  return (
    <Section title={t("usage.notIn")}>
      <Panel className="divide-y divide-line">
        {lines.map(({ title, hint }) => (
          <div key={title} className="px-4 py-3">
            <p className="font-medium text-sm">{title}</p>
            <p className="num min-h-4 text-ink-2 text-xs">{hint}</p>
          </div>
        ))}
      </Panel>
    </Section>
  );
}
