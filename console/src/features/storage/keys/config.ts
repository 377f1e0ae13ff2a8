import type { BucketAddress } from "@/api/generated/types";

export const programs = ["rclone", "aws", "s3cmd"] as const;
export type Program = (typeof programs)[number];

export interface Credentials {
  id: string;
  secret: string;
}

export interface Config {
  /** Where it belongs. */
  file: string;
  text: string;
  /** A command that shows that it works. */
  test: string;
}

/** Name of the remote or profile. */
const NAME = "atelier";

/** What a program needs to reach the bucket, in path style. */
export function configOf(
  program: Program,
  { endpoint, name, region }: BucketAddress,
  { id, secret }: Credentials,
): Config {
  switch (program) {
    case "rclone":
      return {
        file: "~/.config/rclone/rclone.conf",
        text: [
          `[${NAME}]`,
          "type = s3",
          "provider = Other",
          `access_key_id = ${id}`,
          `secret_access_key = ${secret}`,
          `endpoint = ${endpoint}`,
          `region = ${region}`,
          "force_path_style = true",
        ].join("\n"),
        test: `rclone ls ${NAME}:${name}`,
      };
    case "aws":
      return {
        file: "~/.aws/config",
        text: [
          `[profile ${NAME}]`,
          `aws_access_key_id = ${id}`,
          `aws_secret_access_key = ${secret}`,
          `endpoint_url = ${endpoint}`,
          `region = ${region}`,
          "s3 =",
          "  addressing_style = path",
        ].join("\n"),
        test: `aws --profile ${NAME} s3 ls s3://${name}/`,
      };
    case "s3cmd": {
      const { host, protocol } = new URL(endpoint);
      return {
        file: "~/.s3cfg",
        text: [
          "[default]",
          `access_key = ${id}`,
          `secret_key = ${secret}`,
          `host_base = ${host}`,
          `host_bucket = ${host}`,
          `bucket_location = ${region}`,
          `use_https = ${protocol === "https:" ? "True" : "False"}`,
        ].join("\n"),
        test: `s3cmd ls s3://${name}/`,
      };
    }
  }
}
