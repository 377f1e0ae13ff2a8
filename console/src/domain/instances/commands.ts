import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Box, CirclePlay, CircleStop, ExternalLink, RotateCw } from "lucide-react";
import { useDeferredValue } from "react";
import type { Instance } from "@/api/generated/types";
import { knownInstances } from "@/api/instances/cache";
import { instances } from "@/api/instances/queries";
import { useMe } from "@/api/session";
import type { Command } from "@/app/commands";
import { type Text, useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { type InstanceAction, useInstanceActs, whyNotNow } from "./acts";
import { openWord } from "./open-link";

/** So many instances are offered, the best first. */
const MOST = 8;

/** "stop cover" finds what "cover" finds. */
function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Instances by name, and what can be done with them, for the palette. */
export function useInstanceCommands(query: string): Command[] {
  const { t } = useText();
  const { money } = useFormat();
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const act = useInstanceActs();
  const words = wordsOf(query);
  const name = useDeferredValue(words.at(-1) ?? "");
  // what is known answers at once; the rest of a long list is asked for
  useInfiniteQuery({ ...instances(), enabled: me.tenant_id !== null });
  useInfiniteQuery({ ...instances({ name }), enabled: me.tenant_id !== null && name.length > 1 });
  const found = knownInstances(client).filter((it) =>
    words.some((word) => it.name.toLowerCase().includes(word)),
  );
  const offered = found.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST);
  return offered.flatMap((it) => {
    const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
    const can = (action: InstanceAction) => !whyNotNow(me, it, action, t);
    const go: Command = {
      key: it.id,
      group: "things",
      label: t("instances.goTo", { name: it.name }),
      icon: Box,
      run: () => void navigate({ to: "/instances/$id", params: { id: it.id } }),
    };
    const verb = (action: InstanceAction, label: string, icon: Command["icon"]): Command => ({
      key: `${action} ${it.id}`,
      group: "things",
      label,
      icon,
      run: () => act(action, it),
    });
    return [
      go,
      ...(it.state === "running" ? [openCommand(it, t)] : []),
      ...(can("start")
        ? [verb("start", t("instances.commandStart", { name: it.name, price }), CirclePlay)]
        : []),
      ...(can("stop") ? [verb("stop", t("instances.commandStop", { name: it.name }), CircleStop)] : []),
      ...(can("restart")
        ? [verb("restart", t("instances.commandRestart", { name: it.name }), RotateCw)]
        : []),
    ];
  });
}

const rank = (it: Instance) => (it.state === "running" ? 0 : it.state === "stopped" ? 2 : 1);

function openCommand(it: Instance, t: Text): Command {
  return {
    key: `open ${it.id}`,
    group: "things",
    label: t("instances.commandOpen", { open: openWord(it, t), name: it.name }),
    icon: ExternalLink,
    // a press of a key opens a tab: nothing is awaited before
    run: () => void window.open(`/instances/${it.id}/open`, "_blank", "noopener"),
  };
}
