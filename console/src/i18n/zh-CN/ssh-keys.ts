import type { Full } from "../words";

export const sshKeys: Full["sshKeys"] = {
  add: "添加",
  publicKey: "公钥",
  publicKeyHint: "~/.ssh/id_ed25519.pub 等文件中的一行。支持 Ed25519 和 ECDSA，不支持 RSA。",
  keyMissing: "请输入公钥。",
  name: "名称",
  nameHint: "不填则使用密钥的注释。",
};
