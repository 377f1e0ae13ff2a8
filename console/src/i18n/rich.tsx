import { Fragment, type ReactNode } from "react";

type Parts = Record<string, (text: string) => ReactNode>;

/** A message with elements in it: `<strong>this</strong>` becomes what `parts.strong` makes of "this". */
export function Rich({ text, parts }: { text: string; parts: Parts }) {
  const pieces = text.split(/<(\w+)>(.*?)<\/\1>/);
  const nodes: ReactNode[] = [];
  for (let i = 0; i < pieces.length; i += 3) {
    nodes.push(pieces[i]);
    const [name, inner] = [pieces[i + 1], pieces[i + 2]];
    if (name !== undefined && inner !== undefined)
      nodes.push(<Fragment key={`${name}${inner}`}>{parts[name]?.(inner) ?? inner}</Fragment>);
  }
  return <>{nodes}</>;
}
