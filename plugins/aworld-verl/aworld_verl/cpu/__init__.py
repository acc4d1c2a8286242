"""verl on a machine without an accelerator, through verl's own registries."""
