import { shortId } from "@/lib/ids";
import { CopyIconButton } from "./copy";

/** The end of an id, with a button that copies the whole. */
export function Id({ id, label }: { id: string; label: string }) {
  return (
    <span className="-my-1 flex items-center gap-0.5">
      <span className="font-mono text-xs" title={id}>
        {shortId(id)}
      </span>
      <CopyIconButton text={id} label={label} />
    </span>
  );
}
