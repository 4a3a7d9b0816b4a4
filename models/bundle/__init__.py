"""What training hands to serving: manifest, export and runtime."""
