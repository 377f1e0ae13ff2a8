import type { LinkProps } from "@tanstack/react-router";
import type { Job } from "@/api/generated/types";

/** The page of a job: trainings have pages of their own. */
export const pageOf = ({ id, kind }: Pick<Job, "id" | "kind">) =>
  ({
    to: kind === "training" ? "/training/$id" : "/jobs/$id",
    params: { id },
  }) satisfies LinkProps;
