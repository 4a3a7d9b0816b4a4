"""Import of Marian models, such as OPUS-MT's, as sentence models that context modules can be trained on."""
