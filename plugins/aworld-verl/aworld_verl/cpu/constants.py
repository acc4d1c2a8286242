"""Names shared with processes that must not import verl."""

ROLLOUT_NAME = "aworld_cpu"
