"""Why a kernel is not of a form; raised within readers, and told as a reason by them."""


class Unfit(Exception):
    """The kernel is no such thing; the text says what was found in place of it."""
