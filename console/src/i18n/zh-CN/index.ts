import type { Catalogue } from "..";
import { account } from "./account";
import { keys } from "./keys";
import { members } from "./members";
import { nav } from "./nav";
import { problems } from "./problems";
import { signIn } from "./sign-in";
import { ui } from "./ui";

export const zhCN: Catalogue = { ui, nav, problems, signIn, account, members, keys };
