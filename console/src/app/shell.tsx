import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { endEarly } from "@/api/early";
import { followInstances } from "@/api/instances/follow";
import { followJobs } from "@/api/jobs/follow";
import { closeLine } from "@/api/line";
import { followLive } from "@/api/live";
import { useLoaded } from "@/api/query";
import { CallerContext, followSession, me, sessionChanged, useMe } from "@/api/session";
import { followStock } from "@/api/stock-follow";
import { followStorages } from "@/api/storages/follow";
import { useText } from "@/i18n";
import { drawnLater, later } from "@/lib/later";
import { useKeys } from "./keys";
import { Announcer } from "./progress";
import { Sidebar, TopBar } from "./sidebar";
import { SignInAgain } from "./sign-in-again";

const palette = later(() => import("./palette"));
const KeysHelp = drawnLater(() => import("./keys-help"));

/** The layout of all pages after sign-in. */
export function Shell() {
  return (
    <CallerContext value={useLoaded(me)}>
      <Frame />
    </CallerContext>
  );
}

/** Sidebar, menus, dialogs. */
function Frame() {
  const { t } = useText();
  const [open, setOpen] = useState<"palette" | "keys" | null>(null);
  const close = () => setOpen(null);
  const Palette = palette.usePart(open === "palette");
  const onPalette = () => {
    palette.load();
    setOpen("palette");
  };
  useKeys({ onPalette, onHelp: () => setOpen("keys"), onReach: palette.load });
  useLive();
  useEffect(followSession, []);
  useEffect(endEarly, []);
  const main = useRef<HTMLElement>(null);
  useFocusOnGo(main);
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-ultra px-3 py-2 text-on-ultra text-sm focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t("nav.skip")}
      </a>
      <Sidebar onPalette={onPalette} onReach={palette.load} />
      <TopBar onPalette={onPalette} />
      <main
        ref={main}
        id="content"
        tabIndex={-1}
        className="min-w-0 px-5 pt-5 pb-10 outline-none md:px-8 md:pt-6"
      >
        <div className="mx-auto max-w-6xl">
          <Outlet />
        </div>
      </main>
      {open === "palette" && Palette && <Palette onClose={close} />}
      {open === "keys" && <KeysHelp onClose={close} />}
      <SignInAgain />
      <Announcer />
    </div>
  );
}

function useLive() {
  const client = useQueryClient();
  const {
    tenant_id,
    user: { admin },
  } = useMe();
  useEffect(() => {
    if (!tenant_id && !admin) return void closeLine();
    const end = new AbortController();
    followLive(client, end.signal, async () => {
      const now = await client.fetchQuery({ ...me, staleTime: 0 });
      if (now.tenant_id !== tenant_id) sessionChanged("session-changed");
    });
    const ends = [followInstances, followJobs, followStorages, followStock].map((it) => it(client));
    return () => {
      end.abort();
      for (const it of ends) it();
    };
  }, [client, tenant_id, admin]);
}

/** Keyboard and screen reader go on at the new page, not at the link that led there. */
function useFocusOnGo(main: React.RefObject<HTMLElement | null>) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const last = useRef(path);
  useEffect(() => {
    if (last.current && path && last.current !== path && !document.querySelector('[role="dialog"]'))
      main.current?.focus({ preventScroll: true });
    last.current = path;
  }, [path, main]);
}
