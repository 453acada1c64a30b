/** Makes the bucket that an S3 engine starts with. Through S3: a folder made by hand is a bucket without an owner. */
import { CreateBucketCommand, S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import type { S3ClientConfig } from "@aws-sdk/client-s3";

/** Harmless when the bucket is there. */
export async function makeBucket(name: string, config: S3ClientConfig): Promise<void> {
  const client = new S3Client({ ...config, forcePathStyle: true, maxAttempts: 1 });
  try {
    await client.send(new CreateBucketCommand({ Bucket: name }));
  } catch (problem) {
    const doesExist = problem instanceof S3ServiceException && problem.$metadata.httpStatusCode === 409;
    if (!doesExist) throw problem;
  } finally {
    client.destroy();
  }
}
