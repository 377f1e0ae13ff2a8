import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { useLoaded } from "@/api/query";
import { ShareLinks } from "./links";
import { Ssh } from "./ssh";

/** Who else gets in, and how: links for others, SSH for programs. */
export function AccessPage({ id }: { id: InstanceId }) {
  const it = useLoaded(instance(id));
  return (
    <div className="grid items-start gap-10 min-[1100px]:grid-cols-2 [&>section]:mt-0">
      <ShareLinks it={it} />
      <Ssh it={it} />
    </div>
  );
}
