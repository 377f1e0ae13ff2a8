import { useNavigate } from "@tanstack/react-router";
import { call } from "@/api/client";
import {
  deleteWebhook,
  rotateWebhookSecret,
  takeOverWebhook,
  testWebhook,
  updateWebhook,
} from "@/api/generated/operations";
import type { Webhook, WebhookWithSecret } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";
import { webhooks } from "./queries";
import { shortUrl } from "./standing";

const touches = [webhooks.queryKey];

/** Switches it on or off. Whatever was changed meanwhile, this is what counts. */
export function useToggle(it: Webhook) {
  const { t } = useText();
  return useAct(
    (enabled: boolean, key) =>
      call(updateWebhook, { path: { id: it.id }, headers: { "If-Match": "*" }, body: { enabled } }, { key }),
    {
      touches,
      onDone: (_, enabled) => notify({ title: enabled ? t("webhooks.enabled") : t("webhooks.disabled") }),
      onFailed: (error) => notify({ failed: true, title: shortUrl(it.url), detail: describe(error, t) }),
    },
  );
}

/** Sends a test and shows the page on which its answer arrives. */
export function useTest(it: Webhook) {
  const { t } = useText();
  const navigate = useNavigate();
  return useAct((_: void, key) => call(testWebhook, { path: { id: it.id } }, { key }), {
    touches,
    onDone: (delivery) =>
      void navigate({
        to: "/webhooks/$id",
        params: { id: it.id },
        search: { delivery: delivery.id },
        resetScroll: false,
      }),
    onFailed: (error) => notify({ failed: true, title: shortUrl(it.url), detail: describe(error, t) }),
  });
}

export function useRotate(it: Webhook, onDone: (made: WebhookWithSecret) => void) {
  return useAct((_: void, key) => call(rotateWebhookSecret, { path: { id: it.id } }, { key }), {
    touches,
    onDone,
  });
}

export function useTakeOver(it: Webhook, onDone: () => void) {
  const { t } = useText();
  return useAct((_: void, key) => call(takeOverWebhook, { path: { id: it.id } }, { key }), {
    touches,
    onDone: () => {
      onDone();
      notify({ title: t("webhooks.takenOver") });
    },
  });
}

/** Goes to the list before the webhook is read again. */
export function useRemove(it: Webhook, onDone: () => void) {
  const { t } = useText();
  const navigate = useNavigate();
  return useAct(
    async (_: void, key) => {
      await call(deleteWebhook, { path: { id: it.id } }, { key });
      await navigate({ to: "/webhooks" });
    },
    {
      touches,
      onDone: () => {
        onDone();
        notify({ title: t("webhooks.deleted"), detail: shortUrl(it.url) });
      },
    },
  );
}
