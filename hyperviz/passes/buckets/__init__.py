"""The collectives of one module merged into few."""

from hyperviz.passes.buckets.bucket_pass import BucketPass
from hyperviz.passes.buckets.plan import Bucket, Buckets

__all__ = ["Bucket", "BucketPass", "Buckets"]
