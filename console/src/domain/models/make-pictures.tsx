import type { ReactNode } from "react";
import type { ModelId } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { Button, ButtonLink } from "@/ui/button";

/** The way from a model to pictures, in one press, or why one may not. */
export function MakePictures({
  model,
  kind,
  small,
  children,
}: {
  model: ModelId;
  kind?: "primary";
  small?: boolean;
  children: ReactNode;
}) {
  const reason = useWhyNot("jobs.write");
  if (reason)
    return (
      <Button kind={kind} small={small} disabled={reason}>
        {children}
      </Button>
    );
  return (
    <ButtonLink kind={kind} small={small} to="/jobs/new" search={{ model }}>
      {children}
    </ButtonLink>
  );
}
