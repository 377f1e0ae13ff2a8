/** What of a request goes where. Generated requests have these members only. */
export interface Parts {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
}

/** What a request asks for: the path with its parameters. */
export function pathOf(template: string, parts: Parts = {}): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parts.path?.[name])),
  );
  const query = new URLSearchParams();
  // several values are separated by commas, as an array is as text
  for (const [name, value] of Object.entries(parts.query ?? {}))
    if (value !== undefined && value !== null && String(value) !== "") query.append(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
