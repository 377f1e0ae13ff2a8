import {
  listAuditEntries,
  listInstanceAuditEntries,
  listJobAuditEntries,
  listStorageAuditEntries,
} from "@/api/generated/operations";
import { auditPages, type LogEntry } from "@/domain/audit/newest";

const lists = {
  people: listAuditEntries,
  instances: listInstanceAuditEntries,
  storages: listStorageAuditEntries,
  jobs: listJobAuditEntries,
} as const;

export type Area = keyof typeof lists;
export type Entry = LogEntry<Area>;
export const areas = ["people", "instances", "storages", "jobs"] as const satisfies Area[];

/** Who did what, the newest first: of one log, or of all of them. What services did on their own only if that is asked for. */
export const activity = (area: Area | undefined, services: boolean) =>
  auditPages<Area>(
    ["activity", area ?? "all", services],
    area ? { [area]: lists[area] } : lists,
    services ? {} : { by: "person" },
  );
