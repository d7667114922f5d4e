"""Other values of an input than its init draws: unkind ones, and those that tell who read it."""
