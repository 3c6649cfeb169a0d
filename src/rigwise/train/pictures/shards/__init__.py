"""WebDataset shards as DATA: `tar_index` what lies where in a tar file, `samples` which picture shows what."""
