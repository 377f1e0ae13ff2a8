import { createFileRoute, useParams } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { TerminalPage } from "@/features/instance/terminal/page";

export const Route = createFileRoute("/_app/instances/$id/terminal")({ component: Terminal });

function Terminal() {
  return <TerminalPage id={useParams({ from: "/_app/instances/$id/terminal" }).id as InstanceId} />;
}
