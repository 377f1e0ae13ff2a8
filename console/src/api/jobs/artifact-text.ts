import { queryOptions } from "@tanstack/react-query";
import { environment } from "@/api/client";
import type { ArtifactId, JobId } from "@/api/generated/types";
import { problemOf } from "@/api/problem";
import { contentPath } from "./picture-text";

/** A result that is text. */
export const artifactText = (job: JobId, artifact: ArtifactId) =>
  queryOptions({
    queryKey: ["artifact-text", artifact],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await environment.fetch(contentPath(job, artifact), {
        credentials: "same-origin",
        signal,
      });
      if (!response.ok) throw await problemOf(response);
      return response.text();
    },
  });
