import type { ReactNode } from "react";
import { useText } from "@/i18n";
import { Button } from "./button";
import { Dialog } from "./dialog";

/** A secret that the API says once; what it is good for below it. */
export function ShownOnce({
  open,
  onClose,
  title,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
}) {
  const { t } = useText();
  return (
    <Dialog
      wide
      open={open}
      onClose={onClose}
      title={title}
      description={t("ui.shownOnce")}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t("ui.done")}
        </Button>
      }
    >
      {children}
    </Dialog>
  );
}
