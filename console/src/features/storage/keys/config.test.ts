import { expect, test } from "vitest";
import { configOf, programs } from "./config";

const bucket = { name: "stor-1", endpoint: "http://s3.studio.example:9000", region: "eu-west" };
const key = { id: "ATL1", secret: "s3cr3t" };

test("each program gets key, secret, endpoint and region, and a command that names the bucket", () => {
  for (const program of programs) {
    const { text, test: command } = configOf(program, bucket, key);
    expect(text).toContain("= ATL1");
    expect(text).toContain("= s3cr3t");
    expect(text).toContain("s3.studio.example:9000");
    expect(text).toContain("= eu-west");
    expect(command).toContain("stor-1");
  }
});

test("buckets are reached by path, as the platform has no host for each", () => {
  expect(configOf("rclone", bucket, key).text).toContain("force_path_style = true");
  expect(configOf("aws", bucket, key).text).toContain("addressing_style = path");
  expect(configOf("s3cmd", bucket, key).text).toContain("host_bucket = s3.studio.example:9000");
});

test("s3cmd takes the scheme apart", () => {
  expect(configOf("s3cmd", bucket, key).text).toContain("use_https = False");
  expect(configOf("s3cmd", { ...bucket, endpoint: "https://s3.studio.example" }, key).text).toContain(
    "use_https = True",
  );
});
