export interface Asked {
  why: "session-ended" | "recent-sign-in-required";
  done: () => void;
  refuse: (error: Error) => void;
}
