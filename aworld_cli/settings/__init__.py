"""Settings of a user on a machine: their file, the variables, the places; imports nothing by itself."""
