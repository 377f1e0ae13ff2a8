import { createFileRoute, redirect } from "@tanstack/react-router";
import { homeOf } from "@/app/pages";

export const Route = createFileRoute("/_app/")({
  beforeLoad: ({ context }) => {
    throw redirect({ to: homeOf(context.me), replace: true });
  },
});
