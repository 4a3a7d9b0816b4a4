"""From a Marian model of others, such as OPUS-MT's, to a sentence model that context modules are trained on."""
