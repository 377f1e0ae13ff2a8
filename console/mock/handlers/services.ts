import type { ServiceImage, ServiceTemplate } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { asAdmin, checkMatch, patch, withEtag } from "../match.ts";
import { pageOf } from "../page.ts";
import { templateErrors } from "../template-check.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal } from "../types.ts";
import { found, refuseWrong } from "./checks.ts";

const shown = ({ caller }: Context, image: ServiceImage): ServiceImage =>
  caller.user.admin
    ? image
    : {
        ...image,
        template: { ...image.template, env: image.template.env?.map(({ name }) => ({ name, value: "" })) },
      };

function refuseTemplate(template: ServiceTemplate | null | undefined) {
  const errors = template ? templateErrors(template) : [];
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
}

/** At most one version of a service is recommended. */
function recommendOnly({ backend }: Context, image: ServiceImage) {
  if (!image.enabled || image.deprecated) image.recommended = false;
  if (!image.recommended) return;
  for (const other of backend.services)
    if (other !== image && other.service === image.service) other.recommended = false;
}

export const serviceHandlers = {
  listServices: (context) =>
    pageOf(
      context.backend.services
        .filter((it) => it.enabled || context.caller.user.admin)
        .filter((it) => !context.query.service || it.service === context.query.service)
        .map((it) => shown(context, it)),
      context.query,
    ),
  getService: (context) => withEtag(shown(context, found(context.backend.services, context.path.id))),
  createService: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    refuseWrong([
      [
        "/service",
        !/^[a-z0-9._-]{1,63}$/.test(body.service),
        "must be 1 to 63 of a-z, 0-9, `-`, `.` and `_`",
      ],
      [
        "/version",
        !/^[a-z0-9._-]{1,63}$/.test(body.version),
        "must be 1 to 63 of a-z, 0-9, `-`, `.` and `_`",
      ],
    ]);
    refuseTemplate(body.template);
    if (backend.services.some((it) => it.service === body.service && it.version === body.version))
      throw new Refusal("service-version-exists");
    const image: ServiceImage = {
      id: nextId(backend, "img"),
      service: body.service,
      version: body.version,
      description: body.description ?? "",
      descriptions: body.descriptions ?? {},
      icon_url: body.icon_url ?? null,
      links: body.links ?? [],
      template: body.template,
      enabled: body.enabled ?? true,
      recommended: body.recommended ?? false,
      deprecated: false,
      created_at: now(),
      updated_at: now(),
    };
    backend.services.push(image);
    backend.services.sort((a, b) => a.service.localeCompare(b.service) || a.version.localeCompare(b.version));
    recommendOnly(context, image);
    return withEtag(image, 201);
  },
  updateService: (context) => {
    asAdmin(context);
    const { backend, path, body } = context;
    const image = found(backend.services, path.id);
    checkMatch(context, image);
    refuseTemplate(body.template);
    patch(image, body);
    recommendOnly(context, image);
    return withEtag(image);
  },
  deleteService: (context) => {
    asAdmin(context);
    context.backend.services = context.backend.services.filter((it) => it.id !== context.path.id);
  },
} satisfies Partial<Handlers>;
