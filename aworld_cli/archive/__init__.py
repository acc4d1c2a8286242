"""Runs on disk, afterwards: found, listed, shown, compared, graded anew, exported, removed (`aworld runs`)."""
