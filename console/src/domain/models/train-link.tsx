import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useWhyNot } from "@/app/roles";
import { Button, ButtonLink } from "@/ui/button";

/** The way to the form for a training, or why one may not. */
export function TrainLink({ kind, children }: { kind?: "primary"; children: ReactNode }) {
  const reason = useWhyNot("jobs.write");
  const content = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {children}
    </>
  );
  if (reason)
    return (
      <Button kind={kind} disabled={reason}>
        {content}
      </Button>
    );
  return (
    <ButtonLink kind={kind} to="/training/new">
      {content}
    </ButtonLink>
  );
}
