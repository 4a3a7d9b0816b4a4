"""What decodes: requests in, translations out, in one batch after another or as they come."""
