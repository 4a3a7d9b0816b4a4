"""What translations are worth: against references, against wrong ones, with context and without."""
