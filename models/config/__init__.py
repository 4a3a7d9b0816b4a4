"""Frozen configuration of a run: what a YAML file says and a checkpoint remembers.

A run file may name another one in `inherit` (a path relative to itself); its own values win, key by key.
"""

from models.config.architecture import (
    COUNTS_FROM_THE_TOP,
    ArchitectureConfig,
    AveragedDocumentConfig,
    BertContextConfig,
    ConcatenationConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    Integration,
    LayerWeightingConfig,
    SentenceConfig,
)
from models.config.backbone import Activation, BackboneConfig, Norm
from models.config.corpus import CleaningConfig, Corpus, DataConfig, Languages, Provenance, TokenizerConfig
from models.config.reading import data_folder, load_config
from models.config.run import DecodingConfig, ModelName, RunConfig
from models.config.section import Frozen
from models.config.training import EmphasisConfig, ScheduleConfig, TrainingConfig
from models.config.window import ContextWindow

__all__ = [
    "COUNTS_FROM_THE_TOP",
    "Activation",
    "ArchitectureConfig",
    "AveragedDocumentConfig",
    "BackboneConfig",
    "BertContextConfig",
    "CleaningConfig",
    "ConcatenationConfig",
    "ContextWindow",
    "Corpus",
    "DataConfig",
    "DecodingConfig",
    "DocTransformerConfig",
    "EmphasisConfig",
    "Frozen",
    "GlobalLocalConfig",
    "Integration",
    "Languages",
    "LayerWeightingConfig",
    "ModelName",
    "Norm",
    "Provenance",
    "RunConfig",
    "ScheduleConfig",
    "SentenceConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "data_folder",
    "load_config",
]
