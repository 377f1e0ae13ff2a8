import type { User } from "@/api/generated/types";

export interface UserDialogProps {
  it: User;
  onClose: () => void;
}
