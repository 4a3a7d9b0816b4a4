"""What training hands to serving: a folder, and what it says of itself."""
