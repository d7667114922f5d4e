"""Stands before the package of this name; only its driver is another one, beside this file."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
