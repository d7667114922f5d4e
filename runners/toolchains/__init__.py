"""One toolchain a file: source of one language in, artifact out."""
