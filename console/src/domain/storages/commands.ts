import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { HardDrive } from "lucide-react";
import { storages } from "@/api/catalogue";
import { useMe } from "@/api/session";
import { knownStorages } from "@/api/storages/cache";
import type { Command } from "@/app/commands";
import { useText } from "@/i18n";

/** So many storages are offered. */
const MOST = 8;

/** Storages by name, for the palette. */
export function useStorageCommands(query: string): Command[] {
  const { t } = useText();
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  // what is known answers at once
  useQuery({ ...storages, enabled: me.tenant_id !== null && words.length > 0 });
  return knownStorages(client)
    .filter((it) => words.some((word) => it.name.toLowerCase().includes(word)))
    .slice(0, MOST)
    .map((it) => ({
      key: it.id,
      group: "things",
      label: t("nav.storageNamed", { name: it.name }),
      icon: HardDrive,
      run: () => void navigate({ to: "/storages/$id", params: { id: it.id } }),
    }));
}
