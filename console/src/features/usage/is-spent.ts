import type { Budget } from "@/api/generated/types";
import { parseAmount } from "@/lib/money";

export const isSpent = ({ spent, terms }: Budget) => parseAmount(spent) >= parseAmount(terms.amount);
