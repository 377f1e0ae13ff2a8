/** Starts the page anew at a path of ours. The demo has no server: its paths are behind the `#`. */
export function leaveTo(path: string) {
  if (import.meta.env.MODE !== "demo") return location.assign(path);
  location.hash = path;
  location.reload();
}
