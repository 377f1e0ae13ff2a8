import { call } from "@/api/client";
import { createPasskeyChallenge } from "@/api/generated/operations";

/** The person closed the browser's window, or it timed out. */
export class PasskeyCancelled extends Error {}

export const hasPasskeys = () =>
  typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** What the browser's authenticator says, as JSON for the API. */
export async function credentialOf(asked: Promise<Credential | null>): Promise<Record<string, unknown>> {
  const credential = await asked.catch((error: unknown) => {
    if (error instanceof DOMException && ["NotAllowedError", "AbortError"].includes(error.name))
      throw new PasskeyCancelled();
    throw error;
  });
  if (!(credential instanceof PublicKeyCredential)) throw new PasskeyCancelled();
  return { ...credential.toJSON() };
}

/** A passkey of the person answers a challenge of the API. */
export async function answerChallenge(): Promise<Record<string, unknown>> {
  const { public_key } = await call(createPasskeyChallenge, {}, { anonymous: true });
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(
    public_key as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  return credentialOf(navigator.credentials.get({ publicKey: options }));
}
