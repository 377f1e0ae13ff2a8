import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { deleteShareLink } from "@/api/generated/operations";
import type { Instance, ShareLink } from "@/api/generated/types";
import { shareLinks } from "@/api/instances/details";
import { useAct, useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { Button } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { ConfirmDialog, Dialog } from "@/ui/dialog";
import { Empty, Panel, Row, Section } from "@/ui/page";

const NewLinkDialog = drawnLater(() => import("./new-link"));

export function ShareLinks({ it }: { it: Instance }) {
  const { t } = useText();
  const list = useLoaded(shareLinks(it.id));
  const reason = useWhyNot("instances.write");
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<ShareLink | null>(null);
  const [leaving, setLeaving] = useState<ShareLink | null>(null);
  return (
    <Section
      title={t("instance.shareLinks")}
      actions={
        <Button disabled={reason} onClick={() => setMaking(true)}>
          <Plus className="size-4" aria-hidden="true" />
          {t("instance.newLink")}
        </Button>
      }
    >
      <p className="mb-3 max-w-[68ch] text-ink-2 text-sm">{t("instance.shareHint")}</p>
      <Panel>
        {list.length === 0 ? (
          <Empty title={t("instance.noLinks")}>{t("instance.noLinksHint")}</Empty>
        ) : (
          list.map((link) => (
            <LinkRow key={link.id} link={link} reason={reason} onDelete={() => setLeaving(link)} />
          ))
        )}
      </Panel>
      {making && (
        <NewLinkDialog
          it={it}
          onClose={() => setMaking(false)}
          onMade={(link) => {
            setMaking(false);
            setMade(link);
          }}
        />
      )}
      {made && (
        <Dialog
          open
          onClose={() => setMade(null)}
          title={t("instance.linkMade", { name: made.name })}
          description={t("instance.linkOnce")}
          footer={
            <Button kind="primary" onClick={() => setMade(null)}>
              {t("ui.done")}
            </Button>
          }
        >
          <CopyBox text={made.url ?? ""} label={t("ui.copy")} />
        </Dialog>
      )}
      {leaving && <DeleteLink it={it} link={leaving} onClose={() => setLeaving(null)} />}
    </Section>
  );
}

function LinkRow({
  link,
  reason,
  onDelete,
}: {
  link: ShareLink;
  reason: string | false;
  onDelete: () => void;
}) {
  const { t } = useText();
  const { time, sentences } = useFormat();
  return (
    <Row
      title={<span className="font-medium">{link.name}</span>}
      hint={
        <span className="num">
          {sentences([
            link.recipient
              ? t("instance.linkFor", { email: link.recipient.email })
              : t("instance.linkForAll"),
            link.port !== null && t("instance.linkPort", { port: String(link.port) }),
            t("instance.linkEnds", { when: time(link.expires_at) }),
            link.last_used_at
              ? t("instance.linkUsed", { when: time(link.last_used_at) })
              : t("instance.linkUnused"),
          ])}
        </span>
      }
    >
      <Button
        small
        disabled={reason}
        onClick={onDelete}
        aria-label={t("instance.deleteLink", { name: link.name })}
      >
        {t("instance.endLink")}
      </Button>
    </Row>
  );
}

function DeleteLink({ it, link, onClose }: { it: Instance; link: ShareLink; onClose: () => void }) {
  const { t } = useText();
  const remove = useAct(
    (_: void, key) => call(deleteShareLink, { path: { id: it.id, link_id: link.id } }, { key }),
    { touches: [shareLinks(it.id).queryKey], onDone: onClose },
  );
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("instance.endLinkTitle", { name: link.name })}
      verb={t("instance.endLink")}
    >
      <p>{t("instance.endLinkHint")}</p>
    </ConfirmDialog>
  );
}
