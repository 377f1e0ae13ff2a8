import type { Early, Late } from "../words";
import { instances } from "./instances";
import { keys } from "./keys";
import { members } from "./members";
import { nav } from "./nav";
import { problems } from "./problems";
import { reasons } from "./reasons";
import { signIn } from "./sign-in";
import { ui } from "./ui";

export const zhCN: Early = {
  ui,
  nav,
  problems,
  signIn,
  members,
  keys,
  instances,
  reasons,
};

export const late: Late = {
  account: async () => (await import("./account")).account,
  catalogue: async () => (await import("./catalogue")).catalogue,
  audit: async () => (await import("./audit")).audit,
  fleet: async () => (await import("./fleet")).fleet,
  health: async () => (await import("./health")).health,
  instance: async () => (await import("./instance")).instance,
  overview: async () => (await import("./overview")).overview,
  platformOverview: async () => (await import("./platform-overview")).platformOverview,
  platform: async () => (await import("./platform")).platform,
  pools: async () => (await import("./pools")).pools,
  jobs: async () => (await import("./jobs")).jobs,
  newJob: async () => (await import("./new-job")).newJob,
  start: async () => (await import("./start")).start,
  stock: async () => (await import("./stock")).stock,
  usage: async () => (await import("./usage")).usage,
  webhooks: async () => (await import("./webhooks")).webhooks,
  queue: async () => (await import("./queue")).queue,
  tenants: async () => (await import("./tenants")).tenants,
  users: async () => (await import("./users")).users,
  storages: async () => (await import("./storages")).storages,
  sshKeys: async () => (await import("./ssh-keys")).sshKeys,
  secrets: async () => (await import("./secrets")).secrets,
  activity: async () => (await import("./activity")).activity,
  visitor: async () => (await import("./visitor")).visitor,
  models: async () => (await import("./models")).models,
  training: async () => (await import("./training")).training,
};
