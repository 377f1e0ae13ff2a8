export const sshKeys = {
  add: "Add",
  publicKey: "Public key",
  publicKeyHint: "The line of a file such as ~/.ssh/id_ed25519.pub. Ed25519 or ECDSA, not RSA.",
  keyMissing: "Enter the public key.",
  name: "Name",
  nameHint: "Without one, the comment of the key.",
} as const;
