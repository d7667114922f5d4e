"""A model of Hugging Face's transformers from its config, with random weights: none are read.

The source's path is the config (`config.json`, as `save_pretrained` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import SpecError, ToolchainMissing
from ..common.messages import ModuleSource
from ..common.torch_library import load, tensors_in, torch
from .base import Form, Subject, input_tensor

BATCH, LENGTH = 1, 128
"""of the inputs where none are given"""


def recognises(source: ModuleSource, names: Mapping[str, Any]) -> bool:
    """A JSON file."""
    return Path(source.path).suffix == ".json"


def make(source: ModuleSource, names: Mapping[str, Any], seed: int, _device: str) -> Subject:
    """The class that the config names first (or the one asked for), made from the config."""
    try:
        transformers = load("transformers")
    except ImportError as error:
        raise ToolchainMissing(
            "a config of Hugging Face needs transformers", next_step="pip install transformers"
        ) from error
    given = json.loads(Path(source.path).read_text(encoding="utf-8")) | source.init
    kind = given.pop("model_type", None)
    if kind is None:
        raise SpecError(f"{source.path} names no model_type: it is no config of transformers")
    config = transformers.AutoConfig.for_model(kind, **given)
    config.use_cache = False  # one call of the whole sequence: keys are kept for nobody
    architectures = [source.name] if source.name else list(given.get("architectures") or ())
    torch().manual_seed(seed)
    if architectures:
        if not hasattr(transformers, architectures[0]):
            raise SpecError(f"transformers {transformers.__version__} has no {architectures[0]}")
        model = getattr(transformers, architectures[0])(config)
    else:
        model = transformers.AutoModel.from_config(config)
    torch().manual_seed(seed)
    return Subject(_positional(model), _inputs(source, model, config))


def _inputs(source: ModuleSource, model: Any, config: Any) -> tuple[Any, ...]:
    if source.inputs:
        return tuple(input_tensor(text) for text in source.inputs)
    if model.main_input_name == "pixel_values":
        side: Any = getattr(config, "image_size", 224)
        channels = getattr(config, "num_channels", 3)
        sides: Any = (side, side) if isinstance(side, int) else side
        return (torch().randn(BATCH, channels, *sides),)
    if model.main_input_name == "input_ids":
        return (torch().randint(0, config.vocab_size, (BATCH, LENGTH)),)
    raise SpecError(
        f"the model is called with {model.main_input_name}",
        next_step="say of which type and shape as inputs (--input): float32[1,80,3000]",
    )


def _positional(model: Any) -> Any:
    """The model called with its main input first; its answer as a tuple of tensors."""

    base: Any = torch().nn.Module

    class Positional(base):
        def __init__(self, inner: Any) -> None:
            base.__init__(self)
            self.model = inner
            self.main = inner.main_input_name

        def forward(self, first: Any, *others: Any) -> tuple[Any, ...]:
            answer = self.model(**{self.main: first}, **_masks(others))
            return tuple(tensors_in(answer))

    return Positional(model)


def _masks(others: tuple[Any, ...]) -> dict[str, Any]:
    return {"attention_mask": others[0]} if others else {}


FORM = Form("Hugging Face config", recognises, make)
