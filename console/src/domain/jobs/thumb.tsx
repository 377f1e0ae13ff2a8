import { useQuery } from "@tanstack/react-query";
import { GraduationCap, Images, SquareTerminal } from "lucide-react";
import type { Job, JobKind } from "@/api/generated/types";
import { artifacts } from "@/api/jobs/queries";
import { useSeen } from "@/lib/seen";
import { isPicture, Picture } from "./picture";

const icons: Record<JobKind, typeof Images> = {
  generation: Images,
  training: GraduationCap,
  batch: SquareTerminal,
};

/** The first picture of a job. What it has made is asked for when the row is seen. */
export function Thumb({ it }: { it: Job }) {
  const [ref, seen] = useSeen<HTMLSpanElement>();
  const has = it.kind === "generation" && it.state === "succeeded";
  const { data } = useQuery({ ...artifacts(it.id), enabled: seen && has });
  const pictures = data?.filter(isPicture) ?? [];
  const first = pictures[0];
  const Icon = icons[it.kind];
  return (
    <span ref={ref} className="relative block size-11 shrink-0">
      {first ? (
        <Picture job={it.id} artifact={first} alt="" className="size-11 rounded-sm object-cover" />
      ) : (
        <span
          className={`grid size-11 place-items-center rounded-sm text-ink-3 ${has ? "bg-wash" : "border border-line border-dashed"}`}
        >
          <Icon className="size-4" strokeWidth={1.6} aria-hidden="true" />
        </span>
      )}
      {pictures.length > 1 && (
        <span className="num absolute right-0 bottom-0 rounded-tl-sm rounded-br-sm bg-ink px-1 text-2xs text-paper leading-3.5">
          {pictures.length}
        </span>
      )}
    </span>
  );
}
