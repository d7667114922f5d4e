"""Static screens: what sources, PTX and machine code have no business naming."""
