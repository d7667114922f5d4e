"""The screen of machine code: what instruction words say, of a GPU (`sass`) and of a host."""
