"""Who does the work: a desk with a workbench and its jobs, and how they end."""
