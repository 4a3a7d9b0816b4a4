"""The entry point to search."""

from models.search.beam import BeamSearch
from models.search.decoder import Decoder, State
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from models.search.running import Search


def new_search(decoder: Decoder[State], options: SearchOptions) -> Search:
    """Return a search without sentences: greedy for a beam of one, else beam search."""
    return GreedySearch(decoder, options) if options.beam_size == 1 else BeamSearch(decoder, options)
