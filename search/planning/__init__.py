"""Who proposes candidates: a question goes out, a reply comes back."""
