export * as operations from "../src/api/generated/operations";
