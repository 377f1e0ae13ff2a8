/** The end of an id, enough to tell two apart: `ses_01939f0a7c3d…` is `…2b1a00`. */
export function shortId(id: string): string {
  const [prefix = "", rest = ""] = id.split("_");
  return rest.length > 8 ? `${prefix}_…${rest.slice(-6)}` : id;
}
