import { createFileRoute } from "@tanstack/react-router";
import { AccountLayout } from "@/features/account/layout";

export const Route = createFileRoute("/_app/account")({ component: AccountLayout });
