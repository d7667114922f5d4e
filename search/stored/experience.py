"""What earlier searches left: for one search as of when it began, and for whoever asks now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ...runners.errors import SpecError
from ...store.lessons import (
    imported_regraphs,
    label_rows,
    last_label,
    last_memory,
    last_transition,
    put_regraph,
    transition_rows,
)
from ..memory import Memory, Recollection
from ..regraph.file import from_json
from ..regraph.labels import Label
from ..regraph.posterior import Posteriors
from ..regraph.tallies import ReGraph, aggregate, merge_all
from ..regraph.transfer import learned_for
from ..regraph.transition import Transition
from ..regraph.weighing import regraph_weights, unweighed, way_weights
from ..settings import RegraphMode
from .recalling import recall
from .records import Learned

if TYPE_CHECKING:
    from pathlib import Path

    from ...store.store import Store


class Experience:
    """What one search knows of earlier ones. It sees what there was when it began, so that the same
    search takes the same decisions when it is resumed. Read from the store when first asked."""

    def __init__(self, store: Store, kernel_id: str, began: Learned, mode: RegraphMode) -> None:
        self._store = store
        self._kernel_id = kernel_id
        self._began = began
        self._mode: RegraphMode = mode
        self._factors = dict[tuple[str, str, str, str], Mapping[str, float]]()
        self._ways = dict[str, Callable[[str, str], float]]()

    def weights(
        self, previous: str, bottleneck: str, arch: str, language: str
    ) -> Mapping[str, float]:
        """By method, the factor that ReGraph puts on the prior of a candidate."""
        if self._mode == "off":
            return {}
        place = previous, bottleneck, arch, language
        if place not in self._factors:
            hard = self._mode == "hard"
            known = Posteriors(learned_for(self._known, language))
            self._factors[place] = regraph_weights(known, *place, hard=hard)
        return self._factors[place]

    def ways(self, language: str) -> Callable[[str, str], float]:
        """By method and way, the further factor on the prior of a candidate that takes it."""
        if self._mode == "off":
            return unweighed
        if language not in self._ways:
            self._ways[language] = way_weights(
                Posteriors(learned_for(self._known, language)), language
            )
        return self._ways[language]

    def recollection(self, variant_id: str) -> Recollection:
        """What the kernel's memory says to a state."""
        return self._memory.at(variant_id)

    @cached_property
    def _known(self) -> ReGraph:
        began = self._began
        return regraph_of(self._store, began.transitions, began.imports, began.labels)

    @cached_property
    def _memory(self) -> Memory:
        return recall(self._store, self._kernel_id, self._began.memory)


def learned_now(store: Store, mode: RegraphMode) -> Learned:
    """What a search that begins now may know. Reads all transitions, unless ReGraph is off."""
    graphs = tuple(imported_regraphs(store))
    last, labels = last_transition(store), last_label(store)
    return Learned(
        transitions=last,
        memory=last_memory(store),
        imports=graphs,
        labels=labels,
        regraph="" if mode == "off" else regraph_of(store, last, graphs, labels).digest,
    )


def regraph_of(
    store: Store,
    until: str | None = None,
    imports: tuple[str, ...] | None = None,
    labels_until: str | None = None,
) -> ReGraph:
    """The ReGraph of a store: of its own transitions and of what was said of names (each up to a
    row; None: all), and of those imported."""
    own = aggregate(
        (Transition.model_validate(row) for _, row in transition_rows(store, until=until)),
        labels=map(Label.model_validate, label_rows(store, labels_until)),
    )
    kept = imported_regraphs(store)
    wanted = kept if imports is None else [each for each in imports if each in kept]
    return merge_all((own, *(ReGraph.model_validate(kept[each]) for each in wanted)))


def import_regraph(store: Store, graph: ReGraph) -> str:
    """Let later searches of a store use a ReGraph of elsewhere; returns its digest. Twice is
    once."""
    with store.transaction() as writer:
        put_regraph(writer, graph.digest, graph)
    return graph.digest


def read_regraph(path: Path) -> ReGraph:
    """A file that `regraph build`, `merge` or `export` wrote. Raises SpecError, OSError."""
    try:
        return from_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise SpecError(
            f"{path} is no regraph.json: {where}: {first['msg']}",
            valid="a file that `kernelwright regraph build` wrote, of this version or an older one",
            next_step="kernelwright regraph build OUTDIR --to FILE",
        ) from error
