"""See, change and trust what a compiler does to a distributed training step."""
