import type { LinkProps } from "@tanstack/react-router";
import {
  Activity,
  Boxes,
  Building2,
  Component,
  Cpu,
  Database,
  Gauge,
  GraduationCap,
  HardDrive,
  HeartPulse,
  ImagePlus,
  Images,
  Inbox,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListChecks,
  Lock,
  type LucideIcon,
  Mail,
  MonitorSmartphone,
  Plus,
  ReceiptText,
  ScrollText,
  Server,
  Shapes,
  ShieldCheck,
  Tag,
  Terminal,
  UserRound,
  Users,
  UsersRound,
  Webhook,
  Workflow,
} from "lucide-react";
import type { Me } from "@/api/generated/types";
import type { PlainKey } from "@/i18n";

export interface Page {
  to: LinkProps["to"];
  label: PlainKey;
  icon: LucideIcon;
  /** The second key after `g`. */
  key?: string;
  /** Where it stands in the sidebar; pages without are found by the palette and by links. */
  group?: "work" | "studio" | "platform" | "catalogue";
  /** Its address is the beginning of others. */
  exact?: boolean;
  for: "tenant" | "person" | "administrator";
}

/** Every page that one can go to: sidebar, palette and keys are made of this list. */
const pages: readonly Page[] = [
  {
    to: "/overview",
    label: "nav.overview",
    icon: LayoutDashboard,
    key: "o",
    group: "work",
    for: "tenant",
  },
  { to: "/instances", label: "nav.instances", icon: Boxes, key: "i", group: "work", for: "tenant" },
  { to: "/instances/new", label: "nav.startInstance", icon: Plus, key: "n", for: "tenant" },
  { to: "/usage", label: "nav.usage", icon: ReceiptText, key: "u", group: "studio", for: "tenant" },
  { to: "/usage/limits", label: "nav.usageLimits", icon: Gauge, for: "tenant" },
  { to: "/jobs", label: "nav.jobs", icon: ListChecks, key: "j", group: "work", for: "tenant" },
  { to: "/jobs/new", label: "nav.newPictures", icon: ImagePlus, for: "tenant" },
  { to: "/gallery", label: "nav.gallery", icon: Images, key: "g", group: "work", for: "tenant" },
  { to: "/training", label: "nav.training", icon: GraduationCap, key: "r", group: "work", for: "tenant" },
  { to: "/training/new", label: "nav.trainModel", icon: Plus, for: "tenant" },
  { to: "/models", label: "nav.models", icon: Shapes, key: "l", group: "work", for: "tenant" },
  { to: "/members", label: "nav.members", icon: Users, key: "m", group: "studio", for: "tenant" },
  { to: "/api-keys", label: "nav.keys", icon: KeyRound, key: "k", group: "studio", for: "tenant" },
  { to: "/webhooks", label: "nav.webhooks", icon: Webhook, key: "w", group: "studio", for: "tenant" },
  { to: "/message-queue", label: "nav.queue", icon: Inbox, key: "q", group: "studio", for: "tenant" },
  {
    to: "/admin",
    exact: true,
    label: "nav.platform",
    icon: Gauge,
    key: "p",
    group: "platform",
    for: "administrator",
  },
  {
    to: "/admin/tenants",
    label: "nav.tenants",
    icon: Building2,
    group: "platform",
    for: "administrator",
  },
  { to: "/admin/users", label: "nav.users", icon: UsersRound, group: "platform", for: "administrator" },
  {
    to: "/admin/instances",
    label: "nav.allInstances",
    icon: Boxes,
    group: "platform",
    for: "administrator",
  },
  {
    to: "/admin/storages",
    label: "nav.allStorages",
    icon: HardDrive,
    group: "platform",
    for: "administrator",
  },
  { to: "/admin/pools", label: "nav.pools", icon: Workflow, group: "platform", for: "administrator" },
  { to: "/admin/health", label: "nav.health", icon: HeartPulse, group: "platform", for: "administrator" },
  { to: "/admin/audit", label: "nav.audit", icon: ScrollText, group: "platform", for: "administrator" },
  { to: "/storages", label: "nav.storages", icon: HardDrive, key: "s", group: "work", for: "tenant" },
  { to: "/storages/new", label: "nav.createStorage", icon: Plus, for: "tenant" },
  { to: "/secrets", label: "nav.secrets", icon: Lock, group: "studio", for: "tenant" },
  { to: "/activity", label: "nav.activity", icon: Activity, group: "studio", for: "tenant" },
  { to: "/account", label: "nav.accountProfile", icon: UserRound, key: "a", for: "person" },
  { to: "/account/sign-in", label: "nav.accountSignIn", icon: ShieldCheck, for: "person" },
  { to: "/account/ssh-keys", label: "nav.accountSsh", icon: Terminal, for: "person" },
  { to: "/account/sessions", label: "nav.accountSessions", icon: MonitorSmartphone, for: "person" },
  {
    to: "/admin/stock",
    label: "nav.stock",
    icon: Layers,
    key: "t",
    group: "catalogue",
    for: "administrator",
  },
  { to: "/admin/units", label: "nav.units", icon: Component, group: "catalogue", for: "administrator" },
  { to: "/admin/gpu-specs", label: "nav.gpuSpecs", icon: Cpu, group: "catalogue", for: "administrator" },
  {
    to: "/admin/storage-specs",
    label: "nav.storageSpecs",
    icon: Database,
    group: "catalogue",
    for: "administrator",
  },
  { to: "/admin/services", label: "nav.services", icon: Tag, group: "catalogue", for: "administrator" },
  {
    to: "/admin/datacenters",
    label: "nav.datacenters",
    icon: Server,
    group: "catalogue",
    for: "administrator",
  },
  { to: "/invitations", label: "nav.invitations", icon: Mail, for: "person" },
];

const who: Record<Page["for"], (me: Me) => boolean> = {
  person: () => true,
  tenant: (me) => me.tenant_id !== null,
  administrator: (me) => me.user.admin,
};

export const pagesFor = (me: Me) => pages.filter((page) => who[page.for](me));

/** Where `/` leads. */
export const homeOf = (me: Me) =>
  pagesFor(me).find((page) => page.group)?.to ?? ("/invitations" as LinkProps["to"]);
