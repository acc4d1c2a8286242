"""Models on this machine's CPU, with PyTorch."""
