"""Decoding by steps that are captured once per batch shape; see `models.network.inference.frame`."""

import torch
from torch import Tensor

from models.data.batches import Batch
from models.kernels.choices import Choice, Chosen
from models.kernels.fused import has_fused_kernels
from models.network.decoding import ModelDecoder
from models.network.inference.captured_reading import CapturedReading
from models.network.inference.capturing import Capturing
from models.network.inference.frame import Frame, Shape
from models.network.inference.framed_state import FramedState, Frames, Hold, frame_bytes
from models.network.inference.graphs import Capture, CudaGraphs
from models.network.model import TranslationModel
from models.network.state import State


class GraphDecoder(ModelDecoder):
    """A decoder whose steps are captured; where that fails, an ordinary one."""

    def __init__(self, model: TranslationModel, capture: Capture | None = None) -> None:
        """Decode with `model`, which must be in evaluation mode and on its device.

        Args:
            model: the model to decode with.
            capture: captures steps, in place of CUDA.
        """
        super().__init__(model)
        self._plain = ModelDecoder(model)  # its steps are captured: frames holding `self` would outlive it
        self._device = model.device
        self._chooses = self._device.type == "cpu" or has_fused_kernels(self._device)
        limit = frame_bytes(self._device)
        self._steps = Capturing(capture or CudaGraphs(self._device), "decoding goes on")
        self._frames = Frames(limit)
        # Separate graphs: memory of graphs that no batch is using can be released while others decode.
        reads = Capturing(capture or CudaGraphs(self._device), "sentences are encoded")
        self._reading = CapturedReading(reads, self._plain, limit)

    def start(self, batch: Batch) -> State:
        """Encode a batch with its context."""
        architecture = self.model.architecture
        with architecture.computing_by(self._reading.context):
            context = architecture.encode(batch, self.model.backbone)
        state = self._reading.start(batch, context) or super().begin(batch, context)
        return FramedState(state.fixed, cached=True, shared=state.shared)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Return scores of the next token, (R, V), after the last ones (R,)."""
        assert isinstance(state, FramedState)
        if state.position == 0 and self.model.architecture.recurrent:
            return super().step(tokens, state)  # computes once per sentence what is needed of the memory
        if state.fits(len(tokens)) or self._enter(state, len(tokens), state.choice):
            return state.step(tokens)
        return super().step(tokens, state)

    def choose(self, tokens: Tensor, totals: Tensor | None, state: State, choice: Choice) -> Chosen | None:
        """Take one step and choose the next tokens in one graph, or return None if there is none.

        Without the fused kernels of `models.kernels.gpu`, choosing takes many kernels; some cannot be captured.
        """
        assert isinstance(state, FramedState)
        if not self._chooses or (state.position == 0 and self.model.architecture.recurrent):
            return None
        if state.fits(len(tokens), choice) or self._enter(state, len(tokens), choice):
            return state.choose(tokens, totals)
        return None

    def free(self) -> None:
        """Release the memory of idle frames and of the graphs that encode batches."""
        self._frames.clear()
        self._reading.clear()
        torch.cuda.empty_cache()

    def _enter(self, state: FramedState, rows: int, choice: Choice | None) -> bool:
        """Move a state into a frame, if there can be one."""
        state.leave()
        shape = Shape.of(state, rows, choice)
        hold = state.hold
        if hold is None or hold.frame.shape != shape:
            hold = self._hold(shape)
        if hold is not None:
            state.enter(hold, rows)
        return hold is not None

    def _hold(self, shape: Shape) -> Hold | None:
        frame = self._frames.take(shape) or self._captured(shape)
        return None if frame is None else Hold(frame, self._frames)

    def _captured(self, shape: Shape) -> Frame | None:
        """Return a new frame, or None if its step cannot be captured."""
        return self._steps.make(lambda capture: Frame(shape, self._plain.step, capture, self._device))


def decoder_of(model: TranslationModel) -> ModelDecoder:
    """Return the decoder for a model in evaluation mode: on a GPU one with captured steps."""
    return GraphDecoder(model) if model.device.type == "cuda" else ModelDecoder(model)
