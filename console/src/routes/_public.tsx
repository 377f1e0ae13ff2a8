import { createFileRoute } from "@tanstack/react-router";
import { caller } from "@/api/session";
import { PublicFrame } from "@/features/visitor/frame";
import { needWords } from "@/i18n";

/** Pages for everybody. Whoever is not recognized, for whatever reason, is a visitor. */
export const Route = createFileRoute("/_public")({
  beforeLoad: async ({ context: { client } }) => {
    await needWords("visitor");
    return { caller: await client.ensureQueryData(caller).catch(() => null) };
  },
  component: PublicFrame,
});
