import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, Outlet } from "@tanstack/react-router";
import { Progress } from "@/app/progress";
import { Toasts } from "@/ui/toast";

export const Route = createRootRouteWithContext<{ client: QueryClient }>()({
  component: () => (
    <>
      <Progress />
      <Outlet />
      <Toasts />
    </>
  ),
});
