import type { ServiceTemplate } from "../src/api/generated/types";

type Errors = { pointer: string; detail: string }[];

/** What the service says of a template that it refuses. */
export function templateErrors(template: ServiceTemplate): Errors {
  const errors: Errors = [];
  const refuse = (pointer: string, detail: string) => errors.push({ pointer: `/template${pointer}`, detail });
  for (const [i, { name }] of (template.env ?? []).entries()) {
    if (!/^[A-Za-z_]\w{0,127}$/.test(name))
      refuse(`/env/${i}/name`, "must be 1 to 128 letters, digits and `_`, not starting with a digit");
    else if (/^(ATELIER_|KUBERNETES_)/.test(name)) refuse(`/env/${i}/name`, "is reserved for the platform");
  }
  if (!/^[!-~]{1,1024}$/.test(template.image)) refuse("/image", "must be the name of a container image");
  const { ports } = template;
  if (!ports.some((it) => it.is_public)) refuse("/ports", "one port must be `is_public`");
  if (!ports.some((it) => it.is_probe)) refuse("/ports", "one port must be `is_probe`");
  for (const [i, port] of ports.entries()) {
    if (port.port < 1 || port.port > 65535) refuse(`/ports/${i}/port`, "must be between 1 and 65535");
    if ((port.protocol ?? "TCP") !== "TCP" && (port.is_probe || port.is_public))
      refuse(`/ports/${i}/protocol`, "a public port or a probe port must be TCP");
    if (port.base_url && !port.base_url.startsWith("/")) refuse(`/ports/${i}/base_url`, "must be a path");
  }
  for (const name of ["working_dir", "storage_mount_path"] as const)
    if (template[name] && !template[name].startsWith("/")) refuse(`/${name}`, "must be an absolute path");
  if (template.runtime_class_name && !["nvidia", "gvisor", "kata"].includes(template.runtime_class_name))
    refuse("/runtime_class_name", "must be the name of a runtime class");
  return errors;
}
