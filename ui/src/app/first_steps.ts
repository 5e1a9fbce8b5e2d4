/** Lines that a person can copy to try a lake, for the place where this page is served. */

export interface FirstStep {
  program: string;
  about: string;
  text: string;
}

export function firstSteps(origin: string): FirstStep[] {
  return [
    {
      program: "curl",
      about: "Create a repository, put a file on its branch main, and commit it.",
      text: `curl -u "$KEY:$SECRET" ${origin}/api/v1/repos -H 'content-type: application/json' -d '{"name": "shop"}'
curl -u "$KEY:$SECRET" -X PUT '${origin}/api/v1/repos/shop/refs/main/objects?path=hello.txt' --data-binary 'hello'
curl -u "$KEY:$SECRET" ${origin}/api/v1/repos/shop/branches/main/commits -H 'content-type: application/json' -d '{"message": "first file"}'`,
    },
    {
      program: "AWS CLI",
      about: "A repository is a bucket, and a key begins with a branch.",
      text: `export AWS_ACCESS_KEY_ID="$KEY" AWS_SECRET_ACCESS_KEY="$SECRET" AWS_DEFAULT_REGION=us-east-1
aws --endpoint-url ${origin} s3 cp hello.txt s3://shop/main/hello.txt
aws --endpoint-url ${origin} s3 ls s3://shop/main/`,
    },
    {
      program: "boto3",
      about: "The same from Python.",
      text: `import boto3

s3 = boto3.client("s3", endpoint_url="${origin}", region_name="us-east-1",
                  aws_access_key_id=KEY, aws_secret_access_key=SECRET)
s3.put_object(Bucket="shop", Key="main/hello.txt", Body=b"hello")`,
    },
    {
      program: "Python",
      about: "Load rows into a pool that is sorted by time, and ask for them.",
      text: `import lochan

lake = lochan.connect("${origin}", access_key=KEY, secret_key=SECRET)
logs = lake.create_pool("logs", key="ts:time")
logs.load([{"ts": "2026-11-01T10:00:00Z", "host": "web-1", "status": 200}])
print(lake.query("from logs | count() by host").to_pandas())`,
    },
    {
      program: "Spark",
      about: "Read and write files of a branch through S3A.",
      text: `spark = (SparkSession.builder
  .config("spark.hadoop.fs.s3a.endpoint", "${origin}")
  .config("spark.hadoop.fs.s3a.access.key", KEY)
  .config("spark.hadoop.fs.s3a.secret.key", SECRET)
  .config("spark.hadoop.fs.s3a.path.style.access", "true")
  .getOrCreate())
spark.range(10).write.parquet("s3a://shop/main/numbers")`,
    },
    {
      program: "DuckDB",
      about: "Ask Parquet files of a branch, or of any commit.",
      text: `CREATE SECRET (TYPE s3, KEY_ID '…', SECRET '…', ENDPOINT '${origin.replace(/^https?:\/\//, "")}',
               URL_STYLE 'path', USE_SSL ${origin.startsWith("https:")});
SELECT count(*) FROM 's3://shop/main/numbers/*.parquet';`,
    },
  ];
}
