import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { all } from "./catalogue";
import { call } from "./client";
import { getModel, listBaseModels, listDeployments, listModels } from "./generated/operations";
import type { ModelId } from "./generated/types";

const PAGE = 100;

/** What a deletion or a training changes: lists, and every model. */
export const modelsKey = ["models"] as const;

/** The tenant's models, newest first. */
export const models = infiniteQueryOptions({
  queryKey: [...modelsKey, "list"],
  queryFn: ({ pageParam, signal }) =>
    call(listModels, { query: { limit: PAGE, ...(pageParam && { cursor: pageParam }) } }, { signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
});

export const model = (id: ModelId) =>
  queryOptions({
    queryKey: [...modelsKey, "one", id],
    queryFn: ({ signal }) => call(getModel, { path: { id } }, { signal }),
  });

/** Where the files of a model lie, newest first. */
export const deployments = (id: ModelId) =>
  queryOptions({
    queryKey: [...modelsKey, "deployments", id],
    queryFn: ({ signal }) => call(listDeployments, { path: { id }, query: { limit: 100 } }, { signal }),
  });

/** Checkpoints and base models of the pools that run jobs of the tenant: as many as operators have put there. */
export const baseModels = queryOptions({
  queryKey: ["base-models"],
  queryFn: ({ signal }) => all(listBaseModels, {}, signal),
});
