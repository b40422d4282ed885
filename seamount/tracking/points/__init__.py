"""Points as columns: the tails of segments and the Parquet parts compacted from them, as one."""
