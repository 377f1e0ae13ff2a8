import { useState } from "react";
import type { Webhook } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { useToggle } from "./acts";
import { TakeOver } from "./menu";
import { standingOf } from "./standing";

/** What is wrong with it, and what to do. */
export function Trouble({ it }: { it: Webhook }) {
  const { t } = useText();
  const { time } = useFormat();
  const reason = useWhyNot("webhooks.write");
  const ownersOnly = useWhyNot("webhooks.takeOver");
  const [asked, setAsked] = useState(false);
  const toggle = useToggle(it);
  const standing = standingOf(it);
  if (standing === "works" || standing === "new" || standing === "off") return null;
  const words = {
    fails: [
      t("webhooks.failsTitle", { time: time(it.failing_since ?? it.created_at) }),
      t("webhooks.failsHint"),
    ],
    failing: [t("webhooks.failingTitle"), t("webhooks.failingHint")],
    gone: [t("webhooks.goneTitle"), t("webhooks.goneHint")],
    maker: [t("webhooks.makerTitle"), t("webhooks.makerHint")],
  } as const;
  const [title, hint] = words[standing];
  return (
    <div className="mb-6 flex flex-wrap items-center justify-between gap-3 rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3">
      <div className="min-w-0 max-w-[68ch] flex-1 basis-80">
        <p className="font-medium text-vermilion">{title}</p>
        <p className="mt-0.5 text-sm">{hint}</p>
      </div>
      {standing !== "fails" && (
        <div className="flex flex-wrap gap-2">
          {standing === "maker" && (
            <Button disabled={ownersOnly} onClick={() => setAsked(true)}>
              {t("webhooks.takeOver")}
            </Button>
          )}
          <Button disabled={reason} busy={toggle.busy} onClick={() => toggle.run(true)}>
            {t("webhooks.enable")}
          </Button>
        </div>
      )}
      {asked && <TakeOver it={it} onClose={() => setAsked(false)} />}
    </div>
  );
}
