import type { ServiceTemplate } from "@/api/generated/types";
import type { Text } from "@/i18n";

/** Something that the service would refuse; the pointer is into the body, as in its own refusals. */
export interface Fault {
  pointer: string;
  detail: string;
}

const isAbsolute = (path: string) => path.startsWith("/") && !path.includes("/..");

const isWithin = (value: number, least: number, most: number) =>
  Number.isInteger(value) && value >= least && value <= most;

/** The service's own rules, so that most faults are seen before anything is sent. */
export function checkTemplate(template: ServiceTemplate, t: Text): Fault[] {
  const faults: Fault[] = [];
  const require = (isMet: boolean, pointer: string, detail: string) => {
    if (!isMet) faults.push({ pointer: `/template${pointer}`, detail });
  };
  const range = (
    name: "shm_size_mib" | "termination_grace_period_seconds" | "start_timeout_seconds",
    least: number,
    most: number,
  ) => {
    const value = template[name];
    require(value == null || isWithin(value, least, most), `/${name}`, t("catalogue.range", { least, most }));
  };
  require(/^[!-~]{1,1024}$/.test(template.image), "/image", t("catalogue.imageWrong"));
  checkPorts(template, require, t);
  checkVariables(template, require, t);
  for (const name of ["working_dir", "storage_mount_path"] as const) {
    const path = template[name];
    require(path == null || isAbsolute(path), `/${name}`, t("catalogue.pathWrong"));
  }
  require((template.command ?? []).length <= 64, "/command", t("catalogue.tooManyWords", { most: 64 }));
  require((template.args ?? []).length <= 256, "/args", t("catalogue.tooManyWords", { most: 256 }));
  range("shm_size_mib", 1, 16_777_216);
  range("termination_grace_period_seconds", 0, 3600);
  range("start_timeout_seconds", 1, 86_400);
  return faults;
}

type Require = (isMet: boolean, pointer: string, detail: string) => void;

function checkPorts({ ports }: ServiceTemplate, require: Require, t: Text) {
  require(ports.length <= 32, "/ports", t("catalogue.tooManyPorts"));
  require(ports.some((it) => it.is_public), "/ports", t("catalogue.noPublicPort"));
  require(ports.some((it) => it.is_probe), "/ports", t("catalogue.noProbePort"));
  for (const [i, port] of ports.entries()) {
    require(isWithin(port.port, 1, 65_535), `/ports/${i}/port`, t("catalogue.range", {
      least: 1,
      most: 65_535,
    }));
    require((port.protocol ?? "TCP") === "TCP" ||
      !(port.is_public || port.is_probe), `/ports/${i}/protocol`, t("catalogue.mustBeTcp"));
    require(!port.base_url || port.base_url.startsWith("/"), `/ports/${i}/base_url`, t(
      "catalogue.pathWrong",
    ));
  }
}

function checkVariables({ env = [] }: ServiceTemplate, require: Require, t: Text) {
  require(env.length <= 100, "/env", t("catalogue.tooManyVariables"));
  const names = new Set<string>();
  for (const [i, { name }] of env.entries()) {
    const at = `/env/${i}/name`;
    if (!/^[A-Za-z_]\w{0,127}$/.test(name)) require(false, at, t("catalogue.variableWrong"));
    else if (/^(ATELIER_|KUBERNETES_)/.test(name)) require(false, at, t("catalogue.variableReserved"));
    else require(!names.has(name), at, t("catalogue.variableTwice"));
    names.add(name);
  }
}
