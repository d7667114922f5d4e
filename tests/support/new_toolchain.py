"""A toolchain and its language, added to a copy of the product as README says."""

from __future__ import annotations

from product_copy import Product

LANGUAGE = """
        Language(
            kernel_type="verse",
            title="Verse",
            suffixes=(".verse",),
            tier="native",
            toolchain="verse",
        ),
"""
TOOLCHAIN = '''
"""Verse: a title, and below it C++."""

from .host_cpp import HostCpp


class Verse:
    name = "verse"

    def missing(self):
        return None

    def preload(self):
        pass

    def build(self, request, folder):
        title, _, code = request.variant.source.partition("\\n")
        assert title.isalpha()
        variant = request.variant.model_copy(update={"source": code})
        found = HostCpp().build(request.model_copy(update={"variant": variant}), folder)
        own = {"variant_id": request.variant.variant_id, "toolchain": self.name}
        artifact = found.artifact and found.artifact.model_copy(update=own)
        return found.model_copy(update={"artifact": artifact})


TOOLCHAIN = Verse()
'''


def add_a_toolchain(made: Product) -> None:
    """One file, and a language that names it."""
    made.insert("runners/languages.py", LANGUAGE.lstrip("\n"), before="    )\n}\n")
    made.write("runners/toolchains/verse.py", TOOLCHAIN.lstrip("\n"))
