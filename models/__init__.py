"""Context-aware translation models: data, network, search, training and the bundles that are served."""
