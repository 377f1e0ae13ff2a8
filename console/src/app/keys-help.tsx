import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { Dialog } from "@/ui/dialog";
import { pagesFor } from "./pages";

/** The list of keys. */
export default function KeysHelp({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const pages = pagesFor(useMe()).filter((page) => page.key);
  const lines: [string[], string][] = [
    [[navigator.platform.startsWith("Mac") ? "⌘ K" : "Ctrl K", "/"], t("nav.keysSearch")],
    [["?"], t("nav.keysHelpKey")],
    [["Esc"], t("nav.keysClose")],
    ...pages.map((page): [string[], string] => [[`g ${page.key}`], t("nav.keysGo", { page: t(page.label) })]),
  ];
  return (
    <Dialog open onClose={onClose} title={t("nav.keysHelp")} description={t("nav.keysHelpIntro")}>
      <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2 text-sm">
        {lines.map(([keys, what]) => (
          <div key={what} className="col-span-2 grid grid-cols-subgrid">
            <dt>{what}</dt>
            <dd className="flex justify-end gap-2">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded-sm border border-line bg-paper px-1.5 font-mono text-xs leading-5"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
