import { getRouteApi } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { InstanceState } from "@/api/generated/types";
import type { InstanceFilter } from "@/api/instances/cache";
import { useText } from "@/i18n";
import { Select } from "@/ui/select";

const route = getRouteApi("/_app/instances/");

/** While somebody types, the address is left alone for this long. */
const TYPING = 250;

export function Filter({ filter }: { filter: InstanceFilter }) {
  const { t } = useText();
  const navigate = route.useNavigate();
  const states: Record<InstanceState, string> = {
    pending: t("instances.pending"),
    starting: t("instances.starting"),
    running: t("instances.running"),
    stopping: t("instances.stopping"),
    stopped: t("instances.stopped"),
    deleting: t("instances.deleting"),
  };
  const go = (change: InstanceFilter) =>
    void navigate({
      search: (old) => {
        const next = { ...old, ...change };
        return { ...(next.name && { name: next.name }), ...(next.state && { state: next.state }) };
      },
      replace: true,
    });
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-2">
      <NameField value={filter.name ?? ""} onChange={(name) => go({ name })} />
      <div className="w-44 max-md:w-full">
        <Select
          label={t("instances.filterState")}
          value={filter.state ?? "all"}
          onChange={(state) => go({ state: state === "all" ? undefined : state })}
          choices={[
            { value: "all", label: t("instances.allStates") },
            ...(Object.keys(states) as InstanceState[]).map((value) => ({ value, label: states[value] })),
          ]}
        />
      </div>
    </div>
  );
}

function NameField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  const { t } = useText();
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // the address has changed by itself: the back button, a link
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setShown(next.trim());
      onChange(next.trim());
    }, TYPING);
  };
  return (
    <label className="flex h-8 w-64 items-center gap-2 rounded-md border border-line bg-sheet px-2 text-sm focus-within:outline-2 focus-within:outline-ultra hover:border-line-strong max-md:h-10 max-md:w-full">
      <Search className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
      <input
        type="search"
        aria-label={t("instances.filterName")}
        placeholder={t("instances.filterName")}
        value={text}
        onChange={(event) => change(event.target.value)}
        className="w-full min-w-0 bg-transparent outline-none placeholder:text-ink-3"
      />
    </label>
  );
}
