import type { problems } from "./generated/problems";
import type { Problem } from "./generated/types";

export type ProblemSlug = keyof typeof problems;

/** A refusal by the API: an RFC 9457 problem with what its headers say. */
export class ApiError extends Error {
  readonly problem: Problem;
  readonly requestId: string | null;
  /** Seconds. */
  readonly retryAfter: number | null;

  constructor(problem: Problem, requestId: string | null, retryAfter: number | null) {
    super(problem.detail);
    this.name = "ApiError";
    this.problem = problem;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }

  get status() {
    return this.problem.status;
  }

  get slug(): string {
    return this.problem.type.split("/").pop() ?? "";
  }

  is(...slugs: ProblemSlug[]) {
    return slugs.includes(this.slug as ProblemSlug);
  }

  /** What is wrong with each field, by its name in the body: `/name` is `name`, `/limits/cpu` is `limits.cpu`. */
  get fields(): Record<string, string> {
    return Object.fromEntries(
      (this.problem.errors ?? []).map(({ pointer, detail }) => [
        pointer.replace(/^\//, "").replaceAll("/", "."),
        detail,
      ]),
    );
  }
}

/** No answer arrived: the network is gone, or the gateway is. */
export class NetworkError extends Error {
  constructor(cause: unknown) {
    super("no answer", { cause });
    this.name = "NetworkError";
  }
}

export async function problemOf(response: Response): Promise<ApiError> {
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  const problem: Problem = isJson
    ? await response.json()
    : {
        type: "about:blank" as Problem["type"],
        title: response.statusText,
        status: response.status,
        detail: `HTTP ${response.status}`,
      };
  const retryAfter = response.headers.get("retry-after");
  return new ApiError(problem, response.headers.get("x-request-id"), retryAfter ? Number(retryAfter) : null);
}
