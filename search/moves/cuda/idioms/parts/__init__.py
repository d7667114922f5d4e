"""What idioms are made of: how they recognise an algorithm, and how they write one."""
