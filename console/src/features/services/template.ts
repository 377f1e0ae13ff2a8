import type { EnvVar, PortProtocol, ServiceTemplate, TemplatePort } from "@/api/generated/types";
import { lines } from "@/domain/catalogue/labels";

/** Adds what makes an entry of a list known while it is edited. */
export type Keyed<Entry> = Entry & { key: string };

export interface PortDraft {
  port: string;
  protocol: PortProtocol;
  title: string;
  is_public: boolean;
  is_probe: boolean;
  base_url: string;
}

/** A template as its form has it: numbers as typed, words one a line. */
export interface TemplateDraft {
  image: string;
  ports: Keyed<PortDraft>[];
  env: Keyed<Required<EnvVar>>[];
  command: string;
  args: string;
  working_dir: string;
  storage_mount_path: string;
  root_inside: boolean;
  shm_size_mib: string;
  runtime_class_name: string;
  termination_grace_period_seconds: string;
  start_timeout_seconds: string;
}

const keyed = <Entry>(entry: Entry): Keyed<Entry> => ({ ...entry, key: crypto.randomUUID() });

export const newPort = (): Keyed<PortDraft> =>
  keyed({ port: "", protocol: "TCP", title: "", is_public: false, is_probe: false, base_url: "" });
export const newVariable = () => keyed({ name: "", value: "" });

const portDraft = (port: TemplatePort) =>
  keyed({
    port: String(port.port),
    protocol: port.protocol ?? "TCP",
    title: port.title ?? "",
    is_public: port.is_public ?? false,
    is_probe: port.is_probe ?? false,
    base_url: port.base_url ?? "",
  });

export const draftOf = (template: ServiceTemplate): TemplateDraft => ({
  image: template.image,
  ports: template.ports.map(portDraft),
  env: (template.env ?? []).map(({ name, value = "" }) => keyed({ name, value })),
  command: (template.command ?? []).join("\n"),
  args: (template.args ?? []).join("\n"),
  working_dir: template.working_dir ?? "",
  storage_mount_path: template.storage_mount_path ?? "",
  root_inside: template.root_inside ?? false,
  shm_size_mib: template.shm_size_mib == null ? "" : String(template.shm_size_mib),
  runtime_class_name: template.runtime_class_name ?? "",
  termination_grace_period_seconds: String(template.termination_grace_period_seconds ?? 10),
  start_timeout_seconds: String(template.start_timeout_seconds ?? 600),
});

export const emptyTemplate: ServiceTemplate = {
  image: "",
  ports: [{ port: 8080, protocol: "TCP", is_public: true, is_probe: true, base_url: "/" }],
  storage_mount_path: "/workspace",
};

/** The body that the draft stands for. What is empty is left to the service. */
export function templateOf(draft: TemplateDraft): ServiceTemplate {
  const [command, args] = [lines(draft.command), lines(draft.args)];
  return {
    image: draft.image.trim(),
    ports: draft.ports.map(({ port, protocol, title, is_public, is_probe, base_url }) => ({
      port: Number(port),
      protocol,
      ...(title.trim() && { title: title.trim() }),
      is_public,
      is_probe,
      base_url,
    })),
    env: draft.env.map(({ name, value }) => ({ name, value })),
    ...(command.length > 0 && { command }),
    ...(args.length > 0 && { args }),
    ...(draft.working_dir && { working_dir: draft.working_dir }),
    ...(draft.storage_mount_path && { storage_mount_path: draft.storage_mount_path }),
    root_inside: draft.root_inside,
    ...(draft.shm_size_mib && { shm_size_mib: Number(draft.shm_size_mib) }),
    ...(draft.runtime_class_name && { runtime_class_name: draft.runtime_class_name }),
    termination_grace_period_seconds: Number(draft.termination_grace_period_seconds),
    start_timeout_seconds: Number(draft.start_timeout_seconds),
  };
}

/** The same template, however much of it is left out. */
export const normal = (template: ServiceTemplate) => templateOf(draftOf(template));

export const asText = (template: ServiceTemplate) => JSON.stringify(template, null, 2);
