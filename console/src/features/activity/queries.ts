import {
  listAuditEntries,
  listInstanceAuditEntries,
  listJobAuditEntries,
  listStorageAuditEntries,
} from "@/api/generated/operations";
import { auditPages, type LogEntry } from "@/domain/audit/newest";
import type { Area } from "./areas";

const lists = {
  people: listAuditEntries,
  instances: listInstanceAuditEntries,
  storages: listStorageAuditEntries,
  jobs: listJobAuditEntries,
};

export type Entry = LogEntry<Area>;

/** Who did what, the newest first: of one log, or of all of them. What services did on their own only if that is asked for. */
export const activity = (area: Area | undefined, services: boolean) =>
  auditPages<Area>(
    ["activity", area ?? "all", services],
    area ? { [area]: lists[area] } : lists,
    services ? {} : { by: "person" },
  );
