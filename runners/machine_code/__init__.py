"""Machine code as files: what an ELF file or a cubin says of itself."""
