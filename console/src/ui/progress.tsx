/** How far something is, as a ruled bar. */
export function Progress({
  label,
  value,
  most,
  text,
}: {
  label: string;
  /** Undefined while it is not known. */
  value: number | undefined;
  most: number;
  /** In words: "step 12 of 400". */
  text: string;
}) {
  const part = value !== undefined && most > 0 ? Math.min(1, value / most) : 0;
  return (
    <span
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={most}
      aria-valuenow={value}
      aria-valuetext={text}
      className="block h-1 w-full overflow-hidden rounded-full bg-wash"
    >
      <span className="block h-full bg-viridian" style={{ width: `${part * 100}%` }} />
    </span>
  );
}
