// How many jobs a second queues on Postgres take: graphile-worker and pg-boss, each with ten connections and tables of its own.
// `node peers.mjs FOLDER DATABASE_URL SECONDS CLIENTS BATCH`; FOLDER has their packages. Prints JSON: jobs per second, sent one by
// one, and in batches of BATCH.
import { createRequire } from "node:module";

const [folder, connectionString, seconds, clients, batch] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const { makeWorkerUtils } = require("graphile-worker");
const PgBoss = require("pg-boss");
const { Pool } = require("pg");

const CONNECTIONS = 10;
const payload = { application: "stable-diffusion", method: "txt2img", parameters: { prompt: "a fox" } };

async function perSecond(clients, size, send) {
  const begun = performance.now();
  let sent = 0;
  const client = async () => {
    while (performance.now() - begun < seconds * 1000) {
      await send();
      sent += size;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return sent / ((performance.now() - begun) / 1000);
}

const pgPool = new Pool({ connectionString, max: CONNECTIONS });
const worker = await makeWorkerUtils({ pgPool });
await worker.migrate();
const jobs = Array.from({ length: batch }, () => ({ identifier: "generate", payload }));
// many at a time are added in SQL, as its documentation says
const add = `select graphile_worker.add_jobs(array(
  select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`;
const graphile = {
  one: await perSecond(Number(clients), 1, () => worker.addJob("generate", payload)),
  batch: await perSecond(4, Number(batch), () => pgPool.query(add, [JSON.stringify(jobs)])),
};
await worker.release();
await pgPool.end();

const boss = new PgBoss({ connectionString, max: CONNECTIONS, supervise: false, schedule: false });
await boss.start();
await boss.createQueue("generate");
const row = { name: "generate", data: payload };
const pgboss = {
  one: await perSecond(Number(clients), 1, () => boss.send("generate", payload)),
  batch: await perSecond(4, Number(batch), () => boss.insert(Array.from({ length: batch }, () => row))),
};
await boss.stop({ graceful: false });
console.log(JSON.stringify({ "graphile-worker": graphile, "pg-boss": pgboss }));
