import type * as all from "../src/api/generated/operations";

export * as operations from "../src/api/generated/operations";

export type OperationName = {
  // logs and files are no JSON, and have no answer
  [Name in keyof typeof all]: "answer" extends keyof (typeof all)[Name] ? Name : never;
}[keyof typeof all];
