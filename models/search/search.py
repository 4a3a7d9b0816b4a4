"""The entry to search."""

from models.search.beam import BeamSearch
from models.search.decoder import Decoder, State
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from models.search.running import Search


def new_search(decoder: Decoder[State], options: SearchOptions) -> Search:
    """A search that has nothing to do yet."""
    return GreedySearch(decoder, options) if options.beam_size == 1 else BeamSearch(decoder, options)
