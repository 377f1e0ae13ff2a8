import type { Key } from "@/i18n";

type Did = Extract<Key, `activity.did${string}`>;

/** The sentence of an operation; others are shown as they are. */
const sentences: Record<string, Did> = {
  "POST /v1/sessions": "activity.didSignIn",
  "POST /v1/sessions/passkey": "activity.didSignInPasskey",
  "DELETE /v1/sessions/current": "activity.didSignOut",
  "POST /v1/api-keys": "activity.didCreateKey",
  "DELETE /v1/api-keys/{id}": "activity.didDeleteKey",
  "POST /v1/tenants/{id}/invitations": "activity.didInvite",
  "DELETE /v1/tenants/{id}/invitations/{invitation_id}": "activity.didWithdraw",
  "PATCH /v1/tenants/{id}/members/{user_id}": "activity.didChangeRole",
  "DELETE /v1/tenants/{id}/members/{user_id}": "activity.didRemoveMember",
  "POST /v1/me/totp/start": "activity.didSecondFactor",
  "POST /v1/instances": "activity.didCreate",
  "PUT /internal/v1/instances/{id}": "activity.didCreate",
  "PATCH /v1/instances/{id}": "activity.didChange",
  "DELETE /v1/instances/{id}": "activity.didDelete",
  "POST /v1/instances/{id}/start": "activity.didStart",
  "POST /v1/instances/{id}/stop": "activity.didStop",
  "POST /v1/platform-instances/{id}/stop": "activity.didStop",
  "POST /v1/instances/{id}/restart": "activity.didRestart",
  "POST /v1/instances/{id}/tickets": "activity.didOpen",
  "POST /v1/instances/{id}/share-links": "activity.didShare",
  "POST /v1/storages": "activity.didCreate",
  "PATCH /v1/storages/{id}": "activity.didChange",
  "DELETE /v1/storages/{id}": "activity.didDelete",
  "POST /v1/storages/{id}/credentials": "activity.didCreateCredential",
  "POST /v1/jobs": "activity.didSubmit",
  "POST /v1/jobs/{id}/cancel": "activity.didCancel",
  "POST /v1/webhooks": "activity.didCreateWebhook",
};

export const didOf = (operation: string): Did => sentences[operation] ?? "activity.didOther";

/** What it was done to: the last id in what was created, else in the path. */
export function targetOf({ path, created }: { path: string; created: string | null }): string | null {
  return (created ?? path).split("/").findLast((part) => /^[a-z]+_[0-9a-f]{12,}/.test(part)) ?? null;
}
