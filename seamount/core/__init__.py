"""What every station shares: records, storage, registry, errors, settings, lineage."""
