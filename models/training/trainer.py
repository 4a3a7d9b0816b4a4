"""The training loop: updates, validation and checkpoints; a kill at any moment does not change its outcome."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from models.config import RunConfig, TrainingConfig
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import Tokenizer
from models.errors import CheckpointError, ConfigError
from models.network.model import TranslationModel
from models.training.averaging import average
from models.training.beginning import (
    begin,
    require_backbone_to_slow_down,
    require_known_or_trained,
    require_same_vocabulary,
)
from models.training.checkpoints import (
    Progress,
    build_model,
    is_checkpoint,
    list_checkpoints,
    load_checkpoint,
    load_weights,
    remove_checkpoint,
    remove_leftovers,
    save_checkpoint,
    update_of,
    weights_of,
)
from models.training.curves import Curves
from models.training.distributed import World
from models.training.feed import Feed, Share, deaths_told
from models.training.memory import room_for_batches
from models.training.objective import learning_rate, token_losses, weighted_sum
from models.training.optimizer import Optimizer
from models.training.precision import computing
from models.training.resuming import require_same_run

Validate = Callable[[TranslationModel], dict[str, float]]
"""Returns dev-set figures of a model by name; early stopping uses `loss`."""


class Trainer:
    """One run, i.e. one step of training, from a config to a final checkpoint."""

    def __init__(
        self, config: RunConfig, tokenizer: Tokenizer, corpus: TokenizedCorpus, world: World, *, resume: bool = False
    ) -> None:
        """Build the model, from `training.init` if given, and its optimiser.

        With `resume`, both come from the newest checkpoint of the run, if there is one.

        Raises:
            CheckpointError: what it is built from is damaged or does not fit; or the checkpoint to resume has another
                configuration or corpus, or is not the one that the run's other processes continue from.
            ConfigError: the step has nothing to train, or its learning rate would not fall before it ends.
        """
        self.config = config
        self.settings: TrainingConfig = config.training
        self.tokenizer = tokenizer
        self.world = world
        self.progress = Progress(corpus=corpus.fingerprint())
        before = next(reversed(list_checkpoints(config.output)), None) if resume else None
        self.model = self._new_model(begins=before is None).to(world.device)
        self.feed = Feed(corpus, self.model.architecture, self.settings, world)
        self.optimizer = Optimizer(self.model, self.settings, world)
        if not self.optimizer.trained:
            raise ConfigError(f"{config.name}: step {self.settings.step} has nothing to train in this architecture")
        if before is None:
            require_backbone_to_slow_down(config, self.optimizer.trained)
        if resume:
            self._resume(before)
        self.updates = self.settings.updates or self.feed.updates_of(self.settings.epochs or 1)
        try:
            self.settings.schedule.require_end(self.updates)
        except ValueError as error:
            raise ConfigError(f"{config.name}: {error}") from None

    def _resume(self, folder: Path | None) -> None:
        """Continue from a checkpoint of the run, if there is one."""
        if folder is not None:
            self._continue_from(folder)
        update = self.progress.update
        leaders = self.world.sum(update if self.world.leads else 0)
        if self.world.sum(float(update != leaders)):
            raise CheckpointError(
                f"{self.config.output}: a process of this run begins after {update} updates, but another one does not:"
                " all processes need the same output folder with the same checkpoints"
            )

    def _continue_from(self, folder: Path) -> None:
        checkpoint, corpus = load_checkpoint(folder), self.progress.corpus
        require_same_vocabulary(folder, checkpoint, self.config, self.tokenizer)
        require_same_run(folder, checkpoint, self.config, corpus, self.world.size)
        load_weights(self.model, checkpoint.weights)
        self.optimizer.load(checkpoint.optimizer)
        self.progress = replace(checkpoint.progress, corpus=corpus)

    def run(self, validate: Validate, curves: Curves, minutes: float | None = None) -> Path:
        """Train to the end, or for so many minutes, and return the folder of the final, averaged checkpoint.

        A run that has already ended is left unchanged.

        Raises:
            CheckpointError: a checkpoint could not be written.
            ConfigError: the device has too little memory for the batches.
            FeedError: a process that makes batches has been killed.
        """
        deadline = None if minutes is None else time.monotonic() + minutes * 60
        if self.world.leads:
            remove_leftovers(self.config.output)
        if not self._impatient:
            with deaths_told(), curves.progress(self.updates, self.progress.update):
                for share in self.feed.shares(self.progress.epoch, self.progress.position, self._left):
                    self._update(share, curves)
                    self._report(validate, curves)
                    self._share_plateaus()
                    if self.world.agree(self._impatient or (deadline is not None and time.monotonic() > deadline)):
                        break
        if self.world.leads:
            self._checkpoint()
            self._finish()
        return self.config.output / "final"

    @property
    def _left(self) -> int:
        """Number of updates still to be made."""
        return max(0, self.updates - self.progress.update)

    def _update(self, share: Share, curves: Curves) -> None:
        """Take one optimiser step on the weighted mean loss per token over all batches of all processes."""
        settings, progress = self.settings, self.progress
        # Dropout depends only on the run's seed, the update and the process, so no generator state has to be stored.
        torch.manual_seed(hash((settings.seed, progress.update, self.world.rank)))
        self.model.train()
        tokens, weight = self.world.sum(share.tokens), self.world.sum(share.weight)
        total = torch.zeros((), device=self.world.device)
        with room_for_batches(settings, self.world.device):
            for batch in share.batches:
                with computing(settings.precision, self.world.device):
                    losses = token_losses(self.model, batch, settings.label_smoothing)
                loss = weighted_sum(losses, batch) / weight
                loss.backward()
                total += loss.detach()
        self.optimizer.share_gradients()
        progress.update, progress.processes = progress.update + 1, self.world.size
        rate = learning_rate(settings.schedule, progress.update, self.updates, progress.plateaus)
        self.optimizer.step(rate)
        progress.epoch, progress.position = share.reached
        progress.target_tokens += int(tokens)
        curves.advance(int(tokens))
        if progress.update % settings.log_every == 0:
            curves.add({"loss": self.world.sum(total.item()), "learning_rate": rate}, "train", progress.update)

    def _report(self, validate: Validate, curves: Curves) -> None:
        settings, update = self.settings, self.progress.update
        if not self.world.leads:
            return
        if update % settings.validate_every == 0 or update == self.updates:
            self.model.eval()
            figures = validate(self.model)
            curves.add(figures, "dev", update)
            if "loss" in figures:
                self.progress.judge(figures["loss"], settings.schedule.patience)
        is_best = settings.patience is not None and self.progress.best_update == update
        if is_best or update % settings.checkpoint_every == 0:
            self._checkpoint()

    def _share_plateaus(self) -> None:
        """Give every process the plateau count of the one that validates, and so its learning rate."""
        if self.settings.schedule.kind == "plateau":
            self.progress.plateaus = int(self.world.sum(self.progress.plateaus if self.world.leads else 0))

    @property
    def _impatient(self) -> bool:
        """Whether the dev loss has not improved for as long as the run's patience."""
        return self.settings.patience is not None and self.progress.stale >= self.settings.patience

    def _checkpoint(self) -> None:
        folder = self.config.output / "checkpoints" / f"update-{self.progress.update:08d}"
        if is_checkpoint(folder):
            return
        state, weights = self.optimizer.tensors(), weights_of(self.model)
        save_checkpoint(folder, self.config, self.tokenizer, weights, self.progress, state)
        checkpoints, settings = list_checkpoints(self.config.output), self.settings
        kept = {*self._in_step(checkpoints)[-max(settings.keep, settings.average) :], checkpoints[-1]}
        if settings.patience is not None:
            kept |= {*self._up_to_the_best(checkpoints)[-settings.average :]}
        for old in checkpoints:
            if old not in kept:
                remove_checkpoint(old)

    def _in_step(self, checkpoints: Sequence[Path]) -> list[Path]:
        """Return the checkpoints of an uninterrupted run, and the last; interruptions add others, close together."""
        every = self.settings.checkpoint_every
        return [each for each in checkpoints if update_of(each) % every == 0 or each == checkpoints[-1]]

    def _up_to_the_best(self, checkpoints: Sequence[Path]) -> list[Path]:
        """Return the checkpoints as `_in_step`, as if the run had ended at its lowest dev loss."""
        best = self.progress.best_update
        return self._in_step([each for each in checkpoints if best is None or update_of(each) <= best] or checkpoints)

    def _finish(self) -> None:
        """Write the final model; after early stopping, from the checkpoints up to the best."""
        final, checkpoints = self.config.output / "final", list_checkpoints(self.config.output)
        if not self._stands(final):
            latest = self._up_to_the_best(checkpoints) if self._impatient else self._in_step(checkpoints)
            weights = average(latest[-self.settings.average :])
            save_checkpoint(final, self.config, self.tokenizer, weights, self.progress)

    def _stands(self, final: Path) -> bool:
        """Whether the final checkpoint is already that of this run: it is not rewritten, as figures rely on its age."""
        try:
            found = load_checkpoint(final)
        except CheckpointError:
            return False
        return (found.config, found.progress) == (self.config, self.progress)

    def _new_model(self, *, begins: bool) -> TranslationModel:
        """Build the model as before the first update; if not `begins`, without initial weights, for a checkpoint's."""
        torch.manual_seed(self.settings.seed)
        model = build_model(self.config, self.tokenizer, self.settings.dropout)
        remembered = model.architecture.remember(self.config.architecture)
        self.config = self.config.model_copy(update={"architecture": remembered})
        model.initialize()
        if self.settings.init is not None and begins:
            quiet = not self.world.leads
            self.progress.init = begin(model, self.settings.init, self.config, self.tokenizer, quiet=quiet)
        if self.settings.step == "document" and not self.settings.unfreeze:
            model.freeze()
            require_known_or_trained(model, self.config)
        return model
