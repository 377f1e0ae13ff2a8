import type { Catalogue } from "..";
import { account } from "./account";
import { instances } from "./instances";
import { keys } from "./keys";
import { members } from "./members";
import { nav } from "./nav";
import { problems } from "./problems";
import { reasons } from "./reasons";
import { signIn } from "./sign-in";
import { start } from "./start";
import { ui } from "./ui";

export const zhCN: Catalogue = {
  ui,
  nav,
  problems,
  signIn,
  account,
  members,
  keys,
  instances,
  reasons,
  start,
};
