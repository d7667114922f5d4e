"""Commands on PyTorch modules: `analyze`, `optimize-model`, `kernelbench`."""
