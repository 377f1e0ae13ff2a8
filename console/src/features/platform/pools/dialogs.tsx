import type { Pool, PoolShare, Worker } from "@/api/generated/types";
import { RegisterDialog } from "./register";
import { RemoveShareDialog } from "./remove-share";
import { RemoveWorkerDialog } from "./remove-worker";
import { ShareDialog } from "./share-dialog";

/** What is open on the page of a pool. */
export type Open =
  | { what: "register" }
  | { what: "share"; share: PoolShare | null }
  | { what: "remove-share"; share: PoolShare }
  | { what: "remove-worker"; worker: Worker };

/** Loaded when the first is opened. */
export default function PoolDialogs({
  pool,
  open,
  onClose,
}: {
  pool: Pool;
  open: Open;
  onClose: () => void;
}) {
  switch (open.what) {
    case "register":
      return <RegisterDialog pool={pool} onClose={onClose} />;
    case "share":
      return <ShareDialog poolId={pool.id} given={open.share} onClose={onClose} />;
    case "remove-share":
      return <RemoveShareDialog poolId={pool.id} share={open.share} onClose={onClose} />;
    case "remove-worker":
      return <RemoveWorkerDialog worker={open.worker} onClose={onClose} />;
  }
}
