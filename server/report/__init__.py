"""The report on a kernel: one frozen value read from the store, told as Markdown and as a page."""
