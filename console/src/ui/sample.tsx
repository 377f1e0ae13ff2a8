import { useState } from "react";

/** A picture from the object store. It opens in full by a press. */
export function Sample({ src, label, unread }: { src: string; label: string; unread: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken)
    return (
      <p className="grid aspect-square place-items-center rounded-lg border border-line border-dashed p-4 text-center text-ink-3 text-sm">
        {unread}
      </p>
    );
  return (
    <a
      href={src}
      target="_blank"
      rel="noreferrer"
      className="block overflow-hidden rounded-lg border border-line"
    >
      <img src={src} alt={label} onError={() => setBroken(true)} className="w-full" />
    </a>
  );
}
