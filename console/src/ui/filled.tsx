import { Fragment, type ReactNode } from "react";

/** What stands in a text where an element goes: `t(key, { who: slot(0) })`. */
export const slot = (index: number) => String.fromCharCode(0xe000 + index);

/** A sentence with elements in it, in the order of its language. */
export function Filled({ text, parts }: { text: string; parts: readonly ReactNode[] }) {
  return text.split(/([\ue000-\ue0ff])/).map((piece, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have nothing else to be known by
    <Fragment key={i}>
      {/^[\ue000-\ue0ff]$/.test(piece) ? parts[piece.charCodeAt(0) - 0xe000] : piece}
    </Fragment>
  ));
}
