import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { TenantId, UserId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { usePersonName, useTenantName } from "./names";

const look = "block truncate hover:text-ultra hover:underline";

export function TenantLink({
  id,
  names,
}: {
  id: TenantId;
  /** The row is about the tenant. */
  names?: boolean;
}) {
  const name = useTenantName()(id);
  return (
    <Link
      to="/admin/tenants/$id"
      params={{ id }}
      className={clsx(look, "text-sm", names ? "font-medium" : "text-ink-2")}
    >
      {name}
    </Link>
  );
}

export function PersonLink({ id }: { id: UserId }) {
  const name = usePersonName()(id);
  return (
    <Link to="/admin/users/$id" params={{ id }} className={look}>
      {name}
    </Link>
  );
}

/** The end of an id; the whole one is copied. */
export function IdText({ id }: { id: string }) {
  const { t } = useText();
  return (
    <span className="-my-1 flex items-center gap-0.5">
      <span className="font-mono text-xs" title={id}>
        {shortId(id)}
      </span>
      <CopyIconButton text={id} label={t("platform.copyId", { id: shortId(id) })} />
    </span>
  );
}
