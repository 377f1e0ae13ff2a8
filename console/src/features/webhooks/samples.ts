import type { CodeSample } from "@/ui/code-samples";

const node = `import { createHmac, timingSafeEqual } from "node:crypto";

// body: the bytes as they came, before JSON.parse
export function isGenuine(secret, headers, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const hmac = createHmac("sha256", key).update(\`\${id}.\${time}.\`).update(body).digest("base64");
  const expected = Buffer.from(\`v1,\${hmac}\`);
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  const isSame = (one) => one.length === expected.length && timingSafeEqual(one, expected);
  return isRecent && signatures.split(" ").some((one) => isSame(Buffer.from(one)));
}`;

const python = `import base64, hmac, time

# body: the bytes as they came, before json.loads
def is_genuine(secret: str, headers, body: bytes) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    is_recent = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    signatures = headers["webhook-signature"].split()
    return is_recent and any(hmac.compare_digest(expected, one) for one in signatures)`;

const shell = (url: string) => `# sends your endpoint a signed message, as the platform does
SECRET='whsec_…' ID="msg_$(date +%s)" TIME=$(date +%s)
BODY='{"type":"webhook.test","timestamp":"'$(date -u +%FT%TZ)'","data":{}}'
KEY=$(printf %s "\${SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')
SIGNATURE=$(printf %s "$ID.$TIME.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)
curl -i '${url.replaceAll("'", "%27")}' -H 'content-type: application/json' \\
  -H "webhook-id: $ID" -H "webhook-timestamp: $TIME" -H "webhook-signature: v1,$SIGNATURE" -d "$BODY"`;

/** How an endpoint verifies messages, and how to send it one. */
export const verifySamples = (url: string): CodeSample[] => [
  { name: "Python", code: python },
  { name: "Node", code: node },
  { name: "curl", code: shell(url) },
];
