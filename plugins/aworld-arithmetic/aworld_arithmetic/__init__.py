"""Integer arithmetic for AWorld: an environment with exact grades, and a teacher that shows how it is solved."""
