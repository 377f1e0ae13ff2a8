import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createInstanceSshKey, deleteInstanceSshKey } from "@/api/generated/operations";
import type { Instance, NewSshKey, SshKey } from "@/api/generated/types";
import { instanceSshKeys, ownSshKeys, sshEndpoint } from "@/api/instances/details";
import { useAct, useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { Button, ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";

const AddSshKeyDialog = drawnLater(() => import("@/domain/ssh/add-key"));

/** How to connect, the key by which the host is known, and the keys that open this instance. */
export function Ssh({ it }: { it: Instance }) {
  const { t } = useText();
  const { data: endpoint, error } = useQuery(sshEndpoint);
  const { data: own } = useQuery(ownSshKeys);
  const keys = useLoaded(instanceSshKeys(it.id));
  const reason = useWhyNot("instances.write");
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<SshKey | null>(null);
  const host = endpoint && `${it.id}@${endpoint.host}`;
  const port = endpoint && endpoint.port !== 22 ? ` -p ${endpoint.port}` : "";
  return (
    <Section
      title="SSH"
      actions={
        <Button disabled={reason} onClick={() => setAdding(true)}>
          <Plus className="size-4" aria-hidden="true" />
          {t("instance.addKey")}
        </Button>
      }
    >
      <p className="mb-3 max-w-[68ch] text-ink-2 text-sm">{t("instance.sshHint")}</p>
      {error && <p className="text-ink-2 text-sm">{describe(error, t)}</p>}
      {endpoint && (
        <div className="space-y-3">
          <div>
            <p className="mb-1 text-ink-3 text-xs">{t("instance.sshShell")}</p>
            <CopyBox text={`ssh${port} ${host}`} label={t("instance.copyCommand")} />
          </div>
          <div>
            <p className="mb-1 text-ink-3 text-xs">{t("instance.sshTunnel")}</p>
            <CopyBox
              text={`ssh -N -L 7860:localhost:7860${port} ${host}`}
              label={t("instance.copyCommand")}
            />
          </div>
          <div>
            <p className="mb-1 text-ink-3 text-xs">{t("instance.sshHost")}</p>
            <CopyBox text={endpoint.fingerprint} label={t("instance.copyFingerprint")} />
          </div>
        </div>
      )}
      <h3 className="mt-6 mb-2 font-medium text-base">{t("instance.sshKeys")}</h3>
      <Panel>
        {keys.map((key) => (
          <KeyRow key={key.id} sshKey={key} reason={reason} onDelete={() => setLeaving(key)} />
        ))}
        <Row
          title={own ? t("instance.ownKeys", { count: own.length }) : t("instance.ownKeysUnknown")}
          hint={t(own?.length === 0 ? "instance.ownKeysNone" : "instance.ownKeysHint")}
        >
          <ButtonLink small to="/account/ssh-keys">
            {t("nav.accountSsh")}
          </ButtonLink>
        </Row>
      </Panel>
      {adding && <AddKey it={it} onClose={() => setAdding(false)} />}
      {leaving && <DeleteKey it={it} sshKey={leaving} onClose={() => setLeaving(null)} />}
    </Section>
  );
}

function KeyRow({
  sshKey,
  reason,
  onDelete,
}: {
  sshKey: SshKey;
  reason: string | false;
  onDelete: () => void;
}) {
  const { t } = useText();
  const { time } = useFormat();
  return (
    <Row
      title={<span className="font-medium">{sshKey.name}</span>}
      hint={
        <>
          <span className="block truncate font-mono">{sshKey.fingerprint}</span>
          {sshKey.last_used_at
            ? t("instance.linkUsed", { when: time(sshKey.last_used_at) })
            : t("instance.linkUnused")}
        </>
      }
    >
      <Button
        small
        disabled={reason}
        onClick={onDelete}
        aria-label={t("instance.removeKeyOf", { name: sshKey.name })}
      >
        {t("instance.removeKey")}
      </Button>
    </Row>
  );
}

function AddKey({ it, onClose }: { it: Instance; onClose: () => void }) {
  const { t } = useText();
  const path = { id: it.id };
  const add = useAct((body: NewSshKey, key) => call(createInstanceSshKey, { path, body }, { key }), {
    touches: [instanceSshKeys(it.id).queryKey],
    onDone: onClose,
  });
  return (
    <AddSshKeyDialog
      add={add}
      title={t("instance.addKey")}
      hint={t("instance.addKeyHint")}
      curlOf={(body) => asCurl(createInstanceSshKey, { path, body })}
      onClose={onClose}
    />
  );
}

function DeleteKey({ it, sshKey, onClose }: { it: Instance; sshKey: SshKey; onClose: () => void }) {
  const { t } = useText();
  const remove = useAct(
    (_: void, key) => call(deleteInstanceSshKey, { path: { id: it.id, key_id: sshKey.id } }, { key }),
    { touches: [instanceSshKeys(it.id).queryKey], onDone: onClose },
  );
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("instance.removeKeyTitle", { name: sshKey.name })}
      verb={t("instance.removeKey")}
    >
      <p>{t("instance.removeKeyHint")}</p>
    </ConfirmDialog>
  );
}
