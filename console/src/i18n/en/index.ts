import { account } from "./account";
import { keys } from "./keys";
import { members } from "./members";
import { nav } from "./nav";
import { problems } from "./problems";
import { signIn } from "./sign-in";
import { ui } from "./ui";

export const en = { ui, nav, problems, signIn, account, members, keys } as const;
