import type { MqCredential } from "@/api/generated/types";
import type { CodeSample } from "@/ui/code-samples";

/** With the name and password in the address: `amqps://mqc_…:amq_…@mq.example.com:5671/%2f`. */
export const connectionOf = (url: string, id: string, secret: string) =>
  url.replace("://", `://${id}:${secret}@`);

const python = ({
  id,
  exchange,
  queue,
}: MqCredential) => `# pip install pika; export ATELIER_MQ_URL='amqps://…'
import json, os, uuid, pika

connection = pika.BlockingConnection(pika.URLParameters(os.environ["ATELIER_MQ_URL"]))
channel = connection.channel()
channel.confirm_delivery()
channel.basic_publish(
    exchange="${exchange}",
    routing_key="ordinary",
    properties=pika.BasicProperties(
        user_id="${id}",
        content_type="application/json",
        headers={"reqNo": str(uuid.uuid4()), "taskType": "GC", "priority": 5},
    ),
    body=json.dumps({"method": "stable-diffusion.txt2img", "parameters": {"prompt": "harbour at dawn"}}),
)
for method, _, event in channel.consume("${queue}"):
    print(event.decode())
    channel.basic_ack(method.delivery_tag)`;

const node = ({
  id,
  exchange,
  queue,
}: MqCredential) => `// npm install amqplib; export ATELIER_MQ_URL='amqps://…'
import { randomUUID } from "node:crypto";
import amqp from "amqplib";

const connection = await amqp.connect(process.env.ATELIER_MQ_URL);
const channel = await connection.createConfirmChannel();
const body = { method: "stable-diffusion.txt2img", parameters: { prompt: "harbour at dawn" } };
channel.publish("${exchange}", "ordinary", Buffer.from(JSON.stringify(body)), {
  userId: "${id}",
  contentType: "application/json",
  headers: { reqNo: randomUUID(), taskType: "GC", priority: 5 },
});
await channel.waitForConfirms();
await channel.consume("${queue}", (event) => {
  console.log(event.content.toString());
  channel.ack(event);
});`;

/** A job, and its events until the program is stopped. */
export const queueSamples = (it: MqCredential): CodeSample[] => [
  { name: "Python", code: python(it) },
  { name: "Node", code: node(it) },
];
