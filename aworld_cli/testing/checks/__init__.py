"""The checks, a module for each kind of component; each has `checks(subject)`."""
