/** Lines that a person can copy to use one object or folder from another program. */

import type { FirstStep } from "./first_steps";

/** Inside single quotes of a shell. */
const shell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const python = (text: string): string => JSON.stringify(text);
const sql = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export function linesFor(origin: string, repository: string, ref: string, path: string): FirstStep[] {
  const key = `${ref}/${path}`;
  const folder = path === "" || path.endsWith("/");
  const host = origin.replace(/^https?:\/\//, "");
  const reader = /\.csv$/i.test(path) ? "csv" : /\.(ndjson|jsonl|json)$/i.test(path) ? "json" : "parquet";
  const glob = folder ? `${key}*.parquet` : key;
  const keys = `export AWS_ACCESS_KEY_ID="$KEY" AWS_SECRET_ACCESS_KEY="$SECRET" AWS_DEFAULT_REGION=us-east-1`;
  const client = `import boto3

s3 = boto3.client("s3", endpoint_url=${python(origin)}, region_name="us-east-1",
                  aws_access_key_id=KEY, aws_secret_access_key=SECRET)`;
  return [
    {
      program: "curl",
      about: folder ? "The first page of what is in it." : "Its bytes.",
      text: folder
        ? `curl -u "$KEY:$SECRET" -G ${origin}/api/v1/repos/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects/page --data-urlencode ${shell(`prefix=${path}`)}`
        : `curl -u "$KEY:$SECRET" -G ${origin}/api/v1/repos/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects/body --data-urlencode ${shell(`path=${path}`)}`,
    },
    {
      program: "AWS CLI",
      about: "The repository is the bucket.",
      text: `${keys}
aws --endpoint-url ${origin} s3 ${folder ? "ls" : "cp"} ${shell(`s3://${repository}/${key}`)}${folder ? "" : " ."}`,
    },
    {
      program: "boto3",
      about: "The same from Python.",
      text: folder
        ? `${client}
for each in s3.list_objects_v2(Bucket=${python(repository)}, Prefix=${python(key)}).get("Contents", []):
    print(each["Key"], each["Size"])`
        : `${client}
body = s3.get_object(Bucket=${python(repository)}, Key=${python(key)})["Body"].read()`,
    },
    {
      program: "Spark",
      about: "Through S3A; the settings of the session are on the first page, below “Use it from other programs”.",
      text: `spark.read.${reader}(${python(`s3a://${repository}/${key}`)})`,
    },
    {
      program: "DuckDB",
      about: "As a table.",
      text: `CREATE SECRET (TYPE s3, KEY_ID '…', SECRET '…', ENDPOINT ${sql(host)}, URL_STYLE 'path', USE_SSL ${origin.startsWith("https:")});
FROM ${sql(`s3://${repository}/${glob}`)};`,
    },
    {
      program: "lochan",
      about: "The command line, on the lake itself or a profile of this server.",
      text: folder ? `lochan fs ls ${shell(`${repository}@${key}`)}` : `lochan fs cat ${shell(`${repository}@${key}`)}`,
    },
  ];
}
