import { Link } from "@tanstack/react-router";
import { useMe } from "@/api/session";
import { pagesFor } from "./pages";

/** A way to a page of the sidebar, if this person has it. */
export function PageLink({ to, label, className }: { to: string; label: string; className?: string }) {
  const page = pagesFor(useMe()).find((it) => it.to === to);
  return page ? (
    <Link to={page.to} className={className}>
      {label}
    </Link>
  ) : null;
}
