"""AWorld's plugin for models behind any OpenAI-compatible chat endpoint."""
