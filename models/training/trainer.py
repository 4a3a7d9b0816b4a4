"""The training loop: updates, validation, checkpoints, and an end that a kill at any moment does not change."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import Tensor
from torch.optim import Adam
from tqdm import tqdm

from models.config import RunConfig, TrainingConfig
from models.data.batches import Batch, TokenizedCorpus, plan
from models.data.tokenizer import Tokenizer
from models.errors import CheckpointError, ConfigError
from models.network.model import TranslationModel
from models.training.checkpoints import (
    Checkpoint,
    Progress,
    average,
    build_model,
    list_checkpoints,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    weights_of,
)
from models.training.curves import Curves
from models.training.distributed import World
from models.training.objective import learning_rate, target_of, token_losses

Validate = Callable[[TranslationModel], dict[str, float]]
"""Dev-set figures of a model by name; `loss` is among them."""


class Trainer:
    """One run: one step of training, from a config to a final checkpoint."""

    def __init__(self, config: RunConfig, tokenizer: Tokenizer, corpus: TokenizedCorpus, world: World) -> None:
        self.config = config
        self.settings: TrainingConfig = config.training
        self.tokenizer = tokenizer
        self.corpus = corpus
        self.world = world
        self.progress = Progress()
        self.model = self._new_model().to(world.device)
        self.trained = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        if not self.trained:
            raise ConfigError(f"{config.name}: step {self.settings.step} has nothing to train in this architecture")
        self.optimizer = Adam(
            self.trained.values(), betas=self.settings.adam_betas, eps=self.settings.adam_epsilon, fused=True
        )
        self.updates = self.settings.updates or self._updates_of_epochs(self.settings.epochs or 1)

    def resume(self) -> bool:
        """Continue from the newest checkpoint of the run, where there is one.

        Raises:
            CheckpointError: it is damaged, or was made by another configuration.
        """
        checkpoints = list_checkpoints(self.config.output)
        if not checkpoints:
            return False
        checkpoint = load_checkpoint(checkpoints[-1])
        if not _same_run(checkpoint.config, self.config):
            raise CheckpointError(f"{checkpoints[-1]}: was made by another configuration; give the run another output")
        load_weights(self.model, checkpoint.weights)
        self._load_optimizer(checkpoint)
        self.progress = checkpoint.progress
        return True

    def run(self, validate: Validate, curves: Curves, minutes: float | None = None) -> Path:
        """Train to the end, or for so many minutes, and give the folder of the final checkpoint.

        Raises:
            CheckpointError: a checkpoint could not be written.
        """
        deadline = None if minutes is None else time.monotonic() + minutes * 60
        bar = tqdm(total=self.updates, initial=self.progress.update, unit="update", disable=not self.world.leads)
        with bar, curves:
            self._train(validate, curves, bar, deadline)
        if self.world.leads:
            self._checkpoint()
            self._finish()
        return self.config.output / "final"

    def _train(self, validate: Validate, curves: Curves, bar: "tqdm[None]", deadline: float | None) -> None:
        settings = self.settings
        started, counted = time.monotonic(), self.progress.target_tokens
        for batches in self._groups():
            loss = self._update(batches)
            update = self.progress.update
            bar.update()
            if update % settings.log_every == 0:
                speed = (self.progress.target_tokens - counted) / (time.monotonic() - started)
                bar.set_postfix(loss=f"{loss:.3f}", tokens_per_s=f"{speed:.0f}")
                curves.add({"loss": loss, "tokens_per_second": speed}, "train", update)
            if update % settings.validate_every == 0 or update == self.updates:
                self._validate(validate, curves, bar)
            if update % settings.checkpoint_every == 0 and self.world.leads:
                self._checkpoint()
            if self.world.agree(self._over(deadline)):
                break

    def _over(self, deadline: float | None) -> bool:
        impatient = self.settings.patience is not None and self.progress.stale >= self.settings.patience
        late = deadline is not None and time.monotonic() > deadline
        return impatient or late

    def _groups(self) -> Iterator[list[Batch]]:
        """The batches of each update that are this process's share."""
        size = self.world.size * self.settings.accumulation
        progress = self.progress
        while progress.update < self.updates:
            batches = plan(
                self.corpus.lengths, self.corpus.usable, self.settings.batch_tokens, self.settings.seed, progress.epoch
            )
            while progress.position + size <= len(batches) and progress.update < self.updates:
                group = batches[progress.position : progress.position + size][self.world.rank :: self.world.size]
                architecture = self.model.architecture
                yield [self.corpus.batch(i, architecture.window, architecture.select, architecture.collate) for i in group]
            if progress.position + size > len(batches):
                progress.epoch, progress.position = progress.epoch + 1, 0

    def _update(self, batches: list[Batch]) -> float:
        """One step of the optimiser; gives the loss a token, in nats, over all processes."""
        settings, progress = self.settings, self.progress
        # Dropout depends on the run's seed, the update and the process alone, so no generator state has to be kept.
        torch.manual_seed(hash((settings.seed, progress.update, self.world.rank)))
        self.model.train()
        tokens = self.world.sum(sum(int(target_of(batch)[:, 1:].ne(0).sum()) for batch in batches))
        total = 0.0
        for batch in batches:
            with autocast(settings, self.world.device):
                losses = token_losses(self.model, batch.to(self.world.device), settings.label_smoothing)
            loss = losses.sum() / tokens
            loss.backward()
            total += loss.item()
        self._step(progress.update + 1)
        progress.update += 1
        progress.position += self.world.size * settings.accumulation
        progress.target_tokens += int(tokens)
        return self.world.sum(total)

    def _step(self, update: int) -> None:
        gradients = [p.grad for p in self.trained.values() if p.grad is not None]
        self.world.sum_gradients(gradients)
        torch.nn.utils.clip_grad_norm_(self.trained.values(), self.settings.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.settings.schedule, update)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _validate(self, validate: Validate, curves: Curves, bar: "tqdm[None]") -> None:
        if self.world.leads:
            self.model.eval()
            figures = validate(self.model)
            curves.add(figures, "dev", self.progress.update)
            bar.write(f"update {self.progress.update}: " + ", ".join(f"{k} {v:.4g}" for k, v in figures.items()))
            self._judge(figures["loss"])

    def _judge(self, loss: float) -> None:
        best = self.progress.best_loss
        better = best is None or loss < best
        self.progress.best_loss = loss if better else best
        self.progress.stale = 0 if better else self.progress.stale + 1

    def _checkpoint(self) -> None:
        folder = self.config.output / "checkpoints" / f"update-{self.progress.update:08d}"
        state = self._optimizer_tensors()
        save_checkpoint(folder, self.config, self.tokenizer, weights_of(self.model), self.progress, state)
        for old in list_checkpoints(self.config.output)[: -self.settings.keep]:
            _remove(old)

    def _finish(self) -> None:
        latest = list_checkpoints(self.config.output)[-self.settings.average :]
        save_checkpoint(self.config.output / "final", self.config, self.tokenizer, average(latest), self.progress)

    def _new_model(self) -> TranslationModel:
        torch.manual_seed(self.settings.seed)
        model = build_model(self.config, self.tokenizer, self.settings.dropout)
        model.initialize()
        if self.settings.init is not None:
            load_weights(model, load_checkpoint(self.settings.init).weights, "backbone.")
        if self.settings.step == "document":
            model.freeze()
        return model

    def _updates_of_epochs(self, epochs: float) -> int:
        batches = plan(self.corpus.lengths, self.corpus.usable, self.settings.batch_tokens, self.settings.seed, 0)
        return max(1, int(epochs * (len(batches) // (self.world.size * self.settings.accumulation))))

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        state = self.optimizer.state
        return {f"{key}/{name}": state[p][key] for name, p in self.trained.items() for key in state[p]}

    def _load_optimizer(self, checkpoint: Checkpoint) -> None:
        for key, tensor in checkpoint.optimizer.items():
            kind, _, name = key.partition("/")
            if name not in self.trained:
                raise CheckpointError(f"the optimiser state does not fit: {name} is not trained here")
            self.optimizer.state[self.trained[name]][kind] = tensor.to(self.world.device)


def autocast(settings: TrainingConfig, device: torch.device) -> AbstractContextManager[object]:
    """Mixed precision in bfloat16: where asked for, or with `auto` on a GPU and on a CPU with bfloat16 instructions."""
    wanted = settings.precision == "bfloat16"
    capable = device.type == "cuda" or torch.cpu._is_avx512_bf16_supported()
    if wanted or (settings.precision == "auto" and capable):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def _same_run(one: RunConfig, other: RunConfig) -> bool:
    """Whether two configs differ at most in when the run ends and what it reports."""
    free = {"updates", "epochs", "patience", "log_every", "validate_every", "checkpoint_every", "keep", "average"}
    exclude = {"training": free | {"dev_sentences"}, "output": True, "name": True, "decoding": True}
    return one.model_dump(exclude=exclude) == other.model_dump(exclude=exclude)


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
