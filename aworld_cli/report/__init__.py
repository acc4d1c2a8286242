"""What a run says: metrics, progress, tables."""
