"""Files of the outdir, for people, editors and scripts."""
