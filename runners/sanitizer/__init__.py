"""Gates of compute-sanitizer: how its tools are run, what they report, what that means."""
