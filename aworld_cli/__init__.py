"""AWorld: a plugin-based command-line tool for agentic reinforcement learning."""

__version__ = "0.1.0"
