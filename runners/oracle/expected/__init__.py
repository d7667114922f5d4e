"""Expected values: where they lie between the process of references and the judge."""
