"""Tunables that a source declares itself: `@triton.autotune`, and the options of other launches.

An autotuner does not time anything here. Its configurations become parameters, and each launch
uses the one configuration that the request's values make up. `reset_to_zero`, `restore_value`
and `prune_configs_by` act only while tuning, which is the search's work.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import SpecError
from ..model import ordered
from ..specs.declared_plan_model import TRITON_OPTIONS
from ..specs.spec import Parameter
from .libraries import load, triton_jit

OPTIONS = TRITON_OPTIONS
DEFAULT_OF_OPTION = {"num_warps": 4, "num_stages": 3}
VALUES_OF_OPTION = {"num_warps": (1, 2, 4, 8, 16), "num_stages": (1, 2, 3, 4, 5)}
NO_LIMIT = 0
"""the value of a parameter `maxnreg` that leaves registers to the compiler"""


class Tuning:
    """Chooses configurations and options by parameter values; notes what could be chosen."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self.tried: dict[str, str] = {}
        self.warnings: list[str] = []
        self._values = dict(values)
        self._known: list[Any] = []
        self._used: list[Any] = []
        self._options: dict[str, dict[str, int]] = {}
        """kernel -> option -> what the source passes, of launches without an autotuner"""
        self._inside = False

    def install(self) -> None:
        """Replace tuning by choosing in this process, for good; before the source is imported."""
        self.install_autotuners()
        jit: Any = triton_jit().JITFunction
        run: Callable[..., Any] = jit.run

        def run_with_options(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            return run(kernel, *args, **self._with_options(kernel, kwargs))

        jit.run = run_with_options

    def install_autotuners(self) -> None:
        """The part of `install` that works under the interpreter too."""
        tuner_class: Any = load("triton.runtime.autotuner").Autotuner
        make: Callable[..., None] = tuner_class.__init__

        def init(tuner: Any, *args: Any, **kwargs: Any) -> None:
            make(tuner, *args, **kwargs)
            self._known.append(tuner)

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            with self._chosen(tuner, args, kwargs) as config:
                if config.pre_hook is not None:
                    config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
                return tuner.fn.run(*args, **kwargs, **config.all_kwargs())

        def warmup(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            with self._chosen(tuner, args, kwargs) as config:
                return [tuner.fn.warmup(*args, **kwargs, **config.all_kwargs())]

        tuner_class.__init__, tuner_class.run, tuner_class.warmup = init, run, warmup

    def discovered(self) -> dict[str, Parameter]:
        """All tunables of what was launched."""
        found = dict[str, Parameter]()
        for tuner in self._used:
            for knob, values in knobs(tuner).items():
                untuned = VALUES_OF_OPTION.get(knob, ()) if len(set(values)) == 1 else ()
                found[self._name(tuner, knob)] = Parameter(
                    values=tuple(sorted({*values, *untuned})), default=values[0]
                )
        return found | self._discovered_options()

    def configurations(self) -> tuple[dict[str, int], ...]:
        """The configurations as written, over the names of `discovered`."""
        return tuple(
            {self._name(tuner, knob): values[index] for knob, values in knobs(tuner).items()}
            for tuner in self._used
            for index in range(len(tuner.configs))
        )

    @contextmanager
    def _chosen(self, tuner: Any, args: Sequence[Any], kwargs: Any) -> Generator[Any]:
        if tuner not in self._used:
            self._used.append(tuner)
            self._warn(tuner)
        values = {knob: self.value(tuner, knob) for knob in knobs(tuner)}
        label = f"{kernel_name(tuner)}: {ordered(values)}"
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        tuner.best_config = configuration(tuner, values)
        outer, self._inside = self._inside, True
        try:
            yield tuner.best_config
            self.tried[label] = "fits"
        except Exception as error:
            self.tried[label] = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._inside, tuner.nargs = outer, None

    def value(self, tuner: Any, knob: str) -> int:
        """The value in use: the request's, else that of the first configuration."""
        return self._values.get(self._name(tuner, knob), knobs(tuner)[knob][0])

    def _name(self, tuner: Any, knob: str) -> str:
        """Plain where no other autotuner of the source has the same knob."""
        shared = any(knob in _names(each) for each in self._known if each is not tuner)
        return f"{kernel_name(tuner)}__{knob}" if shared else knob

    def _warn(self, tuner: Any) -> None:
        if tuner.early_config_prune or tuner.perf_model:
            self.warnings.append(
                f"prune_configs_by of {kernel_name(tuner)} is left out: any configuration can be "
                "chosen"
            )

    def _with_options(self, kernel: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._inside or kernel.is_gluon():
            return kwargs
        name = str(kernel.__name__)
        passed = {o: kwargs.get(o, d) for o, d in DEFAULT_OF_OPTION.items()}
        self._options.setdefault(name, passed)
        given = {o: self._values.get(f"{name}__{o}", self._option(o)) for o in OPTIONS}
        wanted = {o: value for o, value in given.items() if value is not None}
        changed = {**kwargs, **wanted}
        if wanted.get("maxnreg") == NO_LIMIT:
            del changed["maxnreg"]
        return changed

    def _option(self, option: str) -> int | None:
        """The value that all launches without an autotuner share, if one was asked for."""
        owned = any(option in _names(tuner) for tuner in self._known)
        return None if owned else self._values.get(option)

    def _discovered_options(self) -> dict[str, Parameter]:
        """Under plain names where all such kernels agree, else with the kernel's name."""
        found = dict[str, Parameter]()
        for option, values in VALUES_OF_OPTION.items():
            owned = any(option in _names(tuner) for tuner in self._known)
            differ = len({passed[option] for passed in self._options.values()}) > 1
            for kernel, passed in self._options.items():
                name = f"{kernel}__{option}" if owned or differ else option
                default = passed[option]
                found[name] = Parameter(values=tuple(sorted({*values, default})), default=default)
        return found


def kernel_name(tuner: Any) -> str:
    """The name of the function that an autotuner tunes."""
    return str(tuner.base_fn.__name__)


def knobs(tuner: Any) -> dict[str, list[int]]:
    """Each name that can be tuned -> its value in every configuration, in order.

    A name with one value that is no integer is left as it is. Raises SpecError for
    configurations that do not agree on their names, or vary something that is no integer.
    """
    rows = [_row(config) for config in tuner.configs]
    kernel, found = kernel_name(tuner), dict[str, list[int]]()
    for name in rows[0]:
        values = [row.get(name) for row in rows]
        if all(isinstance(value, int) for value in values):
            if len(set(values)) > 1 or name not in ("num_ctas", "maxnreg"):
                found[name] = [int(value or 0) for value in values]
        elif any(value != values[0] for value in values):
            raise SpecError(
                f"autotune of {kernel}: `{name}` has the values {values}",
                valid="whole numbers or booleans, set by every configuration",
            )
    if missing := sorted({name for row in rows for name in row} - set(rows[0])):
        raise SpecError(
            f"autotune of {kernel}: `{missing[0]}` is set by some configurations only",
            valid="every configuration sets every name",
        )
    return found


def configuration(tuner: Any, values: Mapping[str, int]) -> Any:
    """One `triton.Config` of these values. Raises SpecError when hooks differ."""
    first = tuner.configs[0]
    if any(not _same_hook(config.pre_hook, first.pre_hook) for config in tuner.configs):
        raise SpecError(
            f"autotune of {kernel_name(tuner)}: the configurations have different pre_hooks",
            valid="one pre_hook for all, which reads the values that it is given",
        )
    changed = {k: bool(v) if isinstance(_row(first)[k], bool) else v for k, v in values.items()}
    options = {name: getattr(first, name) for name in OPTIONS}
    options |= {name: changed.pop(name) for name in OPTIONS if name in changed}
    options["maxnreg"] = options["maxnreg"] or None
    make: Any = load("triton").Config
    return make({**first.kwargs, **changed}, **options, pre_hook=first.pre_hook)


def _names(tuner: Any) -> frozenset[str]:
    return frozenset(_row(tuner.configs[0]))


def _row(config: Any) -> dict[str, Any]:
    """Every setting of a configuration; `maxnreg` only where it is a number."""
    options = {name: getattr(config, name) for name in OPTIONS if name != "maxnreg"}
    return {**config.kwargs, **options, "maxnreg": config.maxnreg or NO_LIMIT}


def _same_hook(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if one is None or other is None or not hasattr(one, "__code__"):
        return False
    plain = not one.__closure__ and not other.__closure__ and one.__defaults__ == other.__defaults__
    return plain and one.__code__ == getattr(other, "__code__", None)
