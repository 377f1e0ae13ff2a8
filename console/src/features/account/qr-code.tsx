import { encode } from "uqr";

/** Black on white in both themes: cameras want it so. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 3 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="size-full rounded-md border border-line"
    >
      <path d={`M0 0h${size}v${size}H0z`} fill="white" />
      <path d={path} fill="black" />
    </svg>
  );
}
