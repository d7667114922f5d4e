"""How a file says which module is meant and what it is called with: one form a file.

A form is a value with `recognises` and `make`; the first that recognises a source is taken.
"""

from __future__ import annotations

from . import class_and_inputs, hugging_face, kernelbench
from .base import Form, Subject

FORMS: tuple[Form, ...] = (hugging_face.FORM, kernelbench.FORM, class_and_inputs.FORM)

__all__ = ["FORMS", "Form", "Subject"]
