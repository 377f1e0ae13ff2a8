import { Link } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import type { Instance } from "@/api/generated/types";
import { useText } from "@/i18n";
import { CopyIconButton } from "@/ui/copy";
import { Panel, Section } from "@/ui/page";

const plain = (url: string) => url.replace(/^https?:\/\//, "");

/** Where it answers, for members who are signed in. */
export function Address({ it }: { it: Instance }) {
  const { t } = useText();
  return (
    <Section title={t("instance.address")}>
      <Panel>
        <AddressRow it={it} url={it.url} />
        {it.ports.map((port) => (
          <AddressRow key={port.port} it={it} url={port.url} port={port.port} />
        ))}
      </Panel>
      <p className="mt-2 text-ink-3 text-xs">
        {t(it.state === "running" ? "instance.addressHint" : "instance.addressAsleep")}
      </p>
    </Section>
  );
}

function AddressRow({ it, url, port }: { it: Instance; url: string; port?: number }) {
  const { t } = useText();
  return (
    <div className="flex min-h-9 items-center gap-1 border-line border-b py-0.5 pr-1 pl-3 last:border-b-0">
      <span className="min-w-0 flex-1 truncate font-mono text-xs" title={url}>
        {port !== undefined && <span className="text-ink-3">{port} </span>}
        {plain(url)}
      </span>
      <CopyIconButton text={url} label={t("instance.copyAddress")} />
      {it.state === "running" && (
        <Link
          to="/instances/$id/open"
          params={{ id: it.id }}
          search={port === undefined ? {} : { port }}
          target="_blank"
          preload={false}
          aria-label={t("instance.openAddress", { address: plain(url) })}
          className="grid size-7 place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink max-md:size-10"
        >
          <ExternalLink className="size-4" aria-hidden="true" />
        </Link>
      )}
    </div>
  );
}
