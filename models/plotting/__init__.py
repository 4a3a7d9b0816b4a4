"""Pictures of models, runs and figures."""
