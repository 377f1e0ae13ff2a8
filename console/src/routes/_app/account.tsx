import { createFileRoute } from "@tanstack/react-router";
import { AccountLayout } from "@/features/account/layout";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/account")({
  beforeLoad: () => needWords("account"),
  component: AccountLayout,
});
