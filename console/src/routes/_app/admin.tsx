import { createFileRoute, notFound, Outlet } from "@tanstack/react-router";

/** For administrators of the platform; others find nothing here. */
export const Route = createFileRoute("/_app/admin")({
  beforeLoad: ({ context }) => {
    if (!context.me.user.admin) throw notFound();
  },
  component: Outlet,
});
