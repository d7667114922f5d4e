"""What a compiler says of the types of a kernel's parameters, and drafts of specs with it."""
